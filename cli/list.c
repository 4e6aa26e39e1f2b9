/* list: the families and their variants. */
#include "command.h"
#include "options.h"
#include "output.h"

#include <string.h>

static int list_as_json(void) {
    json_t *families = json_object();
    for (size_t f = 0; ch_family_name(f); f++) {
        json_t *variants = json_array();
        const ch_variant *variant;
        for (size_t i = 0; (variant = ch_family_variant(ch_family_name(f), i)); i++)
            json_array_append_new(variants, json_pack("{s:s, s:s}", "name", variant->name, "help", variant->help));
        json_object_set_new(families, ch_family_name(f), variants);
    }
    return out_json(json_pack("{s:o}", "families", families)) ? EXIT_DONE : EXIT_FAILED;
}

static int list_as_text(void) {
    for (size_t f = 0; ch_family_name(f); f++) {
        const ch_variant *variant;
        int width = 14;
        for (size_t i = 0; (variant = ch_family_variant(ch_family_name(f), i)); i++)
            if ((int)strlen(variant->name) > width) width = (int)strlen(variant->name);
        out("%s%s\n", f ? "\n" : "", ch_family_name(f));
        for (size_t i = 0; (variant = ch_family_variant(ch_family_name(f), i)); i++)
            out("  %-*s %s\n", width, variant->name, variant->help);
    }
    return out_flush() ? EXIT_DONE : EXIT_FAILED;
}

static int run(const struct arguments *arguments) {
    return arguments_has(arguments, "json") ? list_as_json() : list_as_text();
}

const struct command command_list = {
    .name = "list",
    .usage = "[--json]",
    .help = "list the families of parts and their variants",
    .example = "clearhead list",
    .run = run,
};

/* Any bytes as a recipe file: ch_recipe_read sets options, and what it then writes reads back as the same; or it
 * refuses with a sentence that names the file, and changes nothing. */
#include "base/error.h"
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

static ch_recipe *new_recipe(void) {
    ch_recipe *recipe;
    ch_status status = ch_recipe_new(&recipe, NULL);
    ch_assert(status == CH_OK);
    status = ch_recipe_set(recipe, "steps", "77", NULL); /* something to lose */
    ch_assert(status == CH_OK);
    return recipe;
}

static char *as_json(const ch_recipe *recipe) {
    char *text = ch_recipe_json(recipe);
    ch_assert(text);
    return text;
}

static void check_round_trip(const ch_recipe *recipe) {
    char path[MEMORY_PATH], *text = as_json(recipe);
    int memory = memory_file((const uint8_t *)text, strlen(text), path);
    ch_recipe *again = new_recipe();
    ch_status status = ch_recipe_read(again, path, NULL);
    ch_assert(status == CH_OK);
    char *back = as_json(again);
    ch_assert(strcmp(text, back) == 0);
    ch_string_free(back);
    ch_string_free(text);
    ch_recipe_free(again);
    close(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char path[MEMORY_PATH];
    int memory = memory_file(bytes, length, path);
    ch_recipe *recipe = new_recipe();
    char *before = as_json(recipe);
    ch_error error = {0};
    ch_status status = ch_recipe_read(recipe, path, &error);
    if (status == CH_OK) {
        check_round_trip(recipe);
        status = ch_recipe_check(recipe, &error);
        if (status != CH_OK) check_sentence(status, &error);
    } else {
        char *after = as_json(recipe);
        check_sentence(status, &error);
        ch_assert(strstr(error.message, path) && strcmp(before, after) == 0);
        ch_string_free(after);
    }
    ch_string_free(before);
    ch_recipe_free(recipe);
    close(memory);
    return 0;
}

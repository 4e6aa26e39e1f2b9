#include "combinations.h"

#include <stdio.h>
#include <string.h>

enum { SEED = 1, MOST_TRIES = 5000, NAME = 512 };

/* An encoder alone can have another head, which no task asks for. */
#define MASKED " (masked-token)"

#define SIZES " d-model=16 heads=4 max-positions=30"
static const char *const presets[] = {
    "preset=lesson" SIZES,
    "preset=modern" SIZES,
    "preset=gpt2" SIZES,
    "preset=modern arch=decoder-only" SIZES,
    "preset=llama" SIZES,
    "preset=bert task=brackets" SIZES,
    "preset=bert task=brackets" SIZES MASKED,
};
enum { PRESETS = sizeof presets / sizeof *presets };

/* What no family has. Zeros stand twice where they are the plain case. Heads have four numbers at least: normalised
 * ones of two are all alike, and those of three so nearly that their gradients are mostly rounding. */
static const struct {
    const char *option, *value[4];
} values[] = {
    {"d-model", {"15", "16", "18"}},  {"heads", {"1", "2", "4"}},  {"kv-heads", {"0", "1", "2"}},
    {"d-head", {"0", "0", "4", "5"}}, {"window", {"0", "0", "3"}}, {"soft-cap", {"0", "0", "1.5"}},
    {"qk-norm", {"off", "on"}},
};

/* Only where positions are rotary. */
static const char *const rotary[] = {
    "",
    " rope-base=50",
    " rope-scaling=linear rope-factor=3",
    " rope-base=50 rope-scaling=ntk rope-factor=2",
};

/* ---- drawing ---- */

struct draw {
    uint64_t next;
    char *out;
    size_t used;
};

static size_t one_of(struct draw *draw, size_t count) {
    return (size_t)random_int(SEED, draw->next++, 0, (int)count - 1);
}

static void add_setting(struct draw *draw, const char *option, const char *value) {
    int length = snprintf(draw->out + draw->used, NAME - draw->used, "%s%s=%s", draw->used ? " " : "", option, value);
    draw->used += (size_t)length;
    assert_true(draw->used < NAME);
}

/* Whether a family is the values of an option that says what a model is, or what it is for. */
static bool is_drawn(const char *family) {
    const ch_option *row;
    if (strcmp(family, "preset") == 0 || strcmp(family, "rope-scaling") == 0) return false;
    for (size_t i = 0; (row = ch_recipe_option(i)); i++)
        if (strcmp(row->name, family) == 0) return strcmp(row->group, "model") == 0 || strcmp(family, "task") == 0;
    return false;
}

static void draw_settings(struct draw *draw) {
    const char *family, *position = "";
    draw->used = 0;
    for (size_t f = 0; (family = ch_family_name(f)); f++) {
        size_t count = 0;
        if (!is_drawn(family)) continue;
        while (ch_family_variant(family, count)) count++;
        const char *name = ch_family_variant(family, one_of(draw, count))->name;
        if (strcmp(family, "position") == 0) position = name;
        add_setting(draw, family, name);
    }
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        size_t count = 0;
        while (count < 4 && values[v].value[count]) count++;
        add_setting(draw, values[v].option, values[v].value[one_of(draw, count)]);
    }
    size_t turned = one_of(draw, sizeof rotary / sizeof *rotary);
    add_setting(draw, "max-positions", "30");
    if (strncmp(position, "rope", 4) == 0) strcat(draw->out, rotary[turned]);
}

static void set_words(ch_recipe *recipe, const char *name) {
    char settings[NAME];
    snprintf(settings, sizeof settings, "%s", name);
    char *masked = strstr(settings, MASKED);
    if (masked) *masked = '\0';
    set_options(recipe, settings);
}

static bool is_accepted(const char *settings) {
    ch_recipe *recipe = recipe_of("max-len", "9", NULL);
    set_words(recipe, settings);
    bool accepted = ch_recipe_check(recipe, NULL) == CH_OK;
    ch_recipe_free(recipe);
    return accepted;
}

/* Drawn once. */
static char names[COMBINATIONS][NAME];
static int refused;

static void draw_all(void) {
    struct draw draw = {0};
    for (int i = 0, tries = 0; i < COMBINATIONS; tries++) {
        assert_true(tries < MOST_TRIES);
        draw.out = names[i];
        draw_settings(&draw);
        if (!is_accepted(names[i])) {
            refused++;
            continue;
        }
        if (strstr(names[i], "arch=encoder-only") && one_of(&draw, 2)) strcat(names[i], MASKED);
        i++;
    }
}

/* ---- what tests see ---- */

const char *set_combination(ch_recipe *recipe, size_t i) {
    if (i >= PRESETS + COMBINATIONS) return NULL;
    if (!*names[0]) draw_all();
    const char *name = i < PRESETS ? presets[i] : names[i - PRESETS];
    set_words(recipe, name);
    return name;
}

int combinations_refused(void) {
    if (!*names[0]) draw_all();
    return refused;
}

const char *set_case(ch_recipe *recipe, size_t i) {
    size_t parts = 0;
    ch_recipe *counted = recipe_of("seed", "0", NULL);
    while (set_part(counted, parts)) parts++;
    ch_recipe_free(counted);
    return i < parts ? set_part(recipe, i) : set_combination(recipe, i - parts);
}

ch_model *model_of_case(const ch_recipe *recipe, const char *name) {
    return strstr(name, MASKED) ? masked_model_of(recipe) : model_of(recipe);
}

/*
 * Stage checks: at each stage of building a transformer something can be verified before the next one is worth looking
 * at. A stage is a file that ends in its descriptor, and a row in check.c, in the order in which they are worth doing.
 */
#ifndef CH_CHECK_CHECK_H
#define CH_CHECK_CHECK_H

#include "base/family.h"
#include "model/model.h"

/* One stage at work. */
struct check {
    const ch_recipe *recipe;
    const struct ch_model *model; /* what is looked at; NULL for stages that have no use for one of fresh weights */
    bool fresh;                   /* its weights are as the recipe's initialisation left them */
    const ch_check_watch *watch;
    ch_check_result *result;
};

struct stage {
    ch_variant variant;
    bool wants_model; /* where none is given, it gets one with fresh weights */
    bool needs_task;  /* its verdict depends on the task that the model was trained on */
    ch_status (*run)(struct check *check, ch_error *error);
};

extern const struct stage stage_data, stage_shapes, stage_initial_loss, stage_masking, stage_overfit,
    stage_generalisation;

/* A line for a person; a detail is one of many. Cut where it is longer than anybody reads. */
void check_line(const struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_detail(const struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The result: every stage's run ends in it, or in an error. */
ch_status check_result(struct check *check, bool passed, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Tells the watch of a step; false: stop. */
bool check_step(const struct check *check, const ch_step *step);

/* A number for a line: fixed digits behind the point, "2.5649"; "1.23e+40" where they would only be long. */
struct check_number {
    char text[32];
};
struct check_number check_number(double x, int digits);

/* The first examples of the recipe, of a text in the model's tokens if there is a model. Free with ch_examples_free. */
ch_status check_examples(const struct check *check, size_t count, ch_examples **examples, ch_error *error);

/* The tokens of a text as the text, control characters as escapes; places without a token (-1) are left out; cut with
 * "..." where they do not fit. */
void check_text(const ch_vocab *vocab, ch_sequence sequence, char *out, size_t size);
/* The tokens of a sequence as text, cut with "..." where they do not fit. */
void check_tokens(const ch_vocab *vocab, ch_sequence sequence, char *out, size_t size);

#endif

/*
 * Laws of training and evaluation: the same bits at any number of threads, from the same seed and not from another;
 * what must not be trained is not; evaluation and decoding know no dropout; a step after the first allocates nothing.
 */
#include "models.h"

#include "base/memory.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;

static ch_recipe *small_recipe(const char *batch, const char *threads) {
    return recipe_of("d-model", "12", "heads", "3", "d-ff", "20", "layers", "1", "max-positions", "16", "warmup", "5",
                     "lr", "0.01", "batch-size", batch, "threads", threads, NULL);
}

/* The parameters after so many steps; free() them. */
static real *trained(const ch_recipe *recipe, int steps, size_t *count) {
    ch_trainer *trainer = trainer_of(recipe, NULL);
    take_steps(trainer, steps);
    *count = trainer->model->params.block;
    real *copy = new_reals(*count);
    memcpy(copy, trainer->model->params.value, *count * sizeof *copy);
    ch_trainer_free(trainer);
    return copy;
}

static void same_bits_at_any_number_of_threads(void **state) {
    (void)state;
    static const char *const batches[] = {"1", "3", "5", "64"}, *const threads[] = {"2", "8"};
    size_t count;
    for (int b = 0; b < 4; b++) {
        ch_recipe *recipe = small_recipe(batches[b], "1");
        real *one = trained(recipe, 20, &count);
        for (int t = 0; t < 2; t++) {
            set_option(recipe, "threads", threads[t]);
            real *more = trained(recipe, 20, &count);
            check_same("parameters on more threads", more, one, count);
            free(more);
        }
        free(one);
        ch_recipe_free(recipe);
    }
}

static void a_seed_is_a_run(void **state) {
    (void)state;
    static const char *const rngs[] = {"philox", "torch"};
    for (int r = 0; r < 2; r++) {
        size_t count;
        ch_recipe *recipe = small_recipe("6", "2");
        set_option(recipe, "rng", rngs[r]);
        real *first = trained(recipe, 5, &count), *again = trained(recipe, 5, &count);
        set_option(recipe, "seed", "1");
        real *other = trained(recipe, 5, &count);
        check_same("parameters of the same seed", again, first, count);
        assert_true(worst_difference(other, first, count) > 0.1);
        free(first), free(again), free(other);
        ch_recipe_free(recipe);
    }
}

static void what_is_not_trained_stays(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe("8", "2");
    ch_model *fresh = model_of(recipe);
    ch_trainer *trainer = trainer_of(recipe, NULL);
    take_steps(trainer, 20);
    size_t pad = (size_t)ch_vocab_pad(&fresh->vocab);
    static const char *const tables[] = {"src_emb.weight", "tgt_emb.weight"};
    for (int i = 0; i < 2; i++) {
        const real *before = values_of(fresh, tables[i]), *after = values_of(trainer->model, tables[i]);
        check_same("the padding row", after + pad * 12, before + pad * 12, 12);
        assert_true(worst_difference(after, before, 12) > 1e-3); /* digit 0 has moved */
    }
    const struct param *pe = params_find(&fresh->params, "pos.pe");
    check_same("pos.pe", values_of(trainer->model, "pos.pe"), values_of(fresh, "pos.pe"), pe->count);
    ch_trainer_free(trainer);
    ch_model_free(fresh);
    ch_recipe_free(recipe);
}

/* ---- learning rate ---- */

/* Of steps 1, 2, ... with warmup 3 of 12 steps, from nanoGPT's formula for iterations 0, 1, ... in another program. */
static void the_cosine_is_nanogpts(void **state) {
    (void)state;
    static const double expected[] = {0.00025000000000000001,
                                      0.00050000000000000001,
                                      0.00075000000000000002,
                                      0.001,
                                      0.00097286167935365883,
                                      0.00089471999940354005,
                                      0.00077500000000000008,
                                      0.00062814167995011881,
                                      0.00047185832004988137,
                                      0.00032500000000000009,
                                      0.00020528000059645996,
                                      0.00012713832064634127,
                                      0.0001};
    struct rates rates = {.lr = 1e-3, .min_lr = 1e-4, .warmup = 3, .steps = 12};
    for (int step = 1; step <= 13; step++)
        assert_true(fabs(schedule_cosine.rate(&rates, step) - expected[step - 1]) <= 4 * DBL_EPSILON * 1e-3);
    assert_true(schedule_cosine.rate(&rates, 4) == 1e-3 && schedule_cosine.rate(&rates, 13) == 1e-4);
    rates.warmup = 20; /* the run is over before */
    for (int step = 1; step <= 12; step++) assert_true(schedule_cosine.rate(&rates, step) == 1e-3 * step / 21);
    assert_true(schedule_cosine.rate(&rates, 13) == 1e-3 * 13 / 21);
    rates.warmup = 12; /* just then */
    assert_true(schedule_cosine.rate(&rates, 13) == 1e-4);
    rates.warmup = 0;
    assert_true(schedule_cosine.rate(&rates, 1) == 1e-3);
}

static void a_trainer_takes_its_schedules_rate(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe("4", "1");
    set_option(recipe, "schedule", "cosine");
    set_option(recipe, "min-lr", "0.001");
    set_option(recipe, "steps", "12");
    struct rates rates = {.lr = 0.01, .min_lr = 0.001, .warmup = 5, .steps = 12};
    ch_trainer *trainer = trainer_of(recipe, NULL);
    for (int step = 1; step <= 12; step++) {
        ch_step taken = take_steps(trainer, 1);
        assert_true(taken.lr == schedule_cosine.rate(&rates, step));
        assert_true(taken.next_lr == schedule_cosine.rate(&rates, step + 1));
    }
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
}

/* ---- tied matrices ---- */

/* Sequences that hold the padding token, whose row an embedding passes over and an output does not. */
static struct lab padded_lab(struct ch_model *model, const ch_recipe *recipe) {
    struct lab lab = lab_new(model, recipe, NULL);
    lab.pass.dropout = DROPOUT_OFF;
    struct batch_buffer *source = &lab.shard.frame.source, *target = &lab.shard.frame.target;
    for (int b = 0; b < source->view.sequences; b++) {
        source->token[source->offset[b]] = ch_vocab_pad(&model->vocab);
        target->token[target->offset[b] + 1] = ch_vocab_pad(&model->vocab);
    }
    return lab;
}

/* The row of an untied model that a name stands for in a tied one. */
static const char *owner_of(const struct tie *tie, const char *name) {
    if (tie->output && strcmp(name, "generator.weight") == 0) name = "tgt_emb.weight";
    return tie->source && strcmp(name, "tgt_emb.weight") == 0 ? "src_emb.weight" : name;
}

static void check_tie(const struct tie *tie) {
    ch_recipe *recipe = small_recipe("6", "1");
    ch_model *apart = model_of(recipe);
    set_option(recipe, "tie", tie->variant.name);
    ch_model *tied = model_of(recipe);
    struct params *params = &apart->params;
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        memcpy(params->value + row->offset, values_of(tied, owner_of(tie, row->name)), row->count * sizeof(real));
    }
    struct lab one = padded_lab(apart, recipe), other = padded_lab(tied, recipe);
    real losses[] = {(real)lab_step(&one), (real)lab_step(&other)};
    check_same("loss", &losses[1], &losses[0], 1);
    real *sum = params_new_block(&tied->params);
    assert_non_null(sum);
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        real *to = sum + params_find(&tied->params, owner_of(tie, row->name))->offset;
        for (size_t e = 0; param_is_trained(row) && e < row->count; e++) to[e] += one.grad[row->offset + e];
    }
    check_close(tie->variant.name, other.grad, sum, tied->params.trained, 1e-5);
    mem_free_aligned(sum);
    lab_free(&one), lab_free(&other);
    ch_model_free(apart), ch_model_free(tied);
    ch_recipe_free(recipe);
}

static void tied_gradients_add_up(void **state) {
    (void)state;
    for (size_t i = 0; tie_row(i); i++) check_tie((const struct tie *)tie_row(i));
}

/* The sums of a product with turned weights have another order. */
static void turned_weights_serve_all_products(void **state) {
    (void)state;
    for (size_t i = 0; tie_row(i); i++) {
        ch_recipe *recipe = small_recipe("6", "1");
        set_option(recipe, "tie", tie_row(i)->name);
        ch_model *model = model_of(recipe);
        struct lab lab = padded_lab(model, recipe);
        size_t count;
        real *plain = lab_logits(&lab, &count), *block = params_new_turned(&model->params);
        for (int row = 0; row < model->params.count; row++) params_turn(&model->params, block, row);
        lab.pass.turned = block;
        real *turned = lab_logits(&lab, &count);
        check_close(tie_row(i)->name, turned, plain, count, 1e-5);
        free(plain), free(turned);
        mem_free_aligned(block);
        lab_free(&lab);
        ch_model_free(model);
        ch_recipe_free(recipe);
    }
}

/* ---- weight decay ---- */

/* Of one step, so that nothing else differs; more parameters than one piece of the block holds. */
static ch_trainer *stepped(const char *optimizer, const char *decay) {
    ch_recipe *recipe =
        recipe_of("optimizer", optimizer, "weight-decay", decay, "warmup", "0", "lr", "0.01", "batch-size", "4", NULL);
    ch_trainer *trainer = trainer_of(recipe, NULL);
    take_steps(trainer, 1);
    ch_recipe_free(recipe);
    return trainer;
}

/* The weights w (1 - lr decay) - u and w - u, with |u| <= lr = 0.01: the factor is rounded, so is the product, and both
 * differences are, each by half an epsilon. */
static void matrices_decay_and_nothing_else(void **state) {
    (void)state;
    ch_trainer *with = stepped("adamw", "2"), *without = stepped("adamw", "0"), *adam = stepped("adam-default", "0");
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    ch_model *fresh = model_of(recipe);
    const struct params *params = &fresh->params;
    check_same("no decay is Adam", without->model->params.value, adam->model->params.value, params->block);
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        const real *a = with->model->params.value + row->offset, *b = without->model->params.value + row->offset;
        bool matrix = row->role == ROLE_EMBEDDING || row->role == ROLE_LINEAR_WEIGHT;
        if (!matrix) check_same(row->name, a, b, row->count);
        for (size_t e = 0; matrix && e < row->count; e++) {
            double start = (double)params->value[row->offset + e], moved = (double)(b[e] - a[e]);
            assert_true(fabs(moved - 0.02 * start) <= epsilon * (2 * fabs(start) + 0.01));
        }
    }
    ch_model_free(fresh);
    ch_recipe_free(recipe);
    ch_trainer_free(with), ch_trainer_free(without), ch_trainer_free(adam);
}

/* ---- evaluation ---- */

static ch_evaluation evaluate(const ch_model *model, const ch_recipe *recipe, size_t examples) {
    ch_evaluation result;
    ch_error error;
    check_ok(ch_evaluate(model, recipe, examples, &result, &error), &error);
    return result;
}

static void check_same_evaluation(ch_evaluation a, ch_evaluation b) {
    assert_true(a.loss == b.loss && a.token_accuracy == b.token_accuracy);
    assert_int_equal(a.exact, b.exact);
    assert_int_equal(a.total, b.total);
}

/* The trained model of the lesson's code, which gets some right and some (lengths 9 and 10) wrong. */
static void evaluation_knows_no_threads(void **state) {
    (void)state;
    ch_model *model = open_model(CH_TEST_DATA "/lesson_tiny_model.safetensors");
    ch_recipe *recipe = recipe_of("threads", "1", NULL);
    ch_evaluation one = evaluate(model, recipe, 173);
    assert_int_equal(one.total, 173);
    assert_true(one.exact > 20 && one.exact < 173);
    assert_true(one.token_accuracy > 0.5 && one.token_accuracy < 1);
    set_option(recipe, "threads", "2");
    check_same_evaluation(evaluate(model, recipe, 173), one);
    set_option(recipe, "threads", "8");
    check_same_evaluation(evaluate(model, recipe, 173), one);
    set_option(recipe, "seed", "1"); /* other examples */
    assert_true(evaluate(model, recipe, 173).loss != one.loss);
    ch_recipe_free(recipe);
    ch_model_free(model);
}

/* Two models that differ in nothing but the rate they were made to be trained with. */
static void evaluation_knows_no_dropout(void **state) {
    (void)state;
    ch_recipe *dry = small_recipe("4", "2"), *wet = small_recipe("4", "2");
    set_option(dry, "dropout", "0");
    set_option(wet, "dropout", "0.9");
    ch_model *a = model_of(dry), *b = model_of(wet);
    check_same("weights", b->params.value, a->params.value, a->params.block);
    check_same_evaluation(evaluate(b, wet, 60), evaluate(a, dry, 60));
    check_same_evaluation(evaluate(b, wet, 60), evaluate(b, wet, 60));
    static const int token[] = {3, 1, 4, 1, 5};
    ch_sequence source = {token, 5};
    ch_attention *seen[2];
    ch_error error;
    check_ok(ch_look(a, source, 9, &seen[0], &error), &error);
    check_ok(ch_look(b, source, 9, &seen[1], &error), &error);
    ch_sequence one = ch_attention_generated(seen[0]), two = ch_attention_generated(seen[1]);
    assert_int_equal(one.length, two.length);
    assert_memory_equal(one.tokens, two.tokens, one.length * sizeof(int));
    assert_memory_equal(ch_attention_map(seen[0], 0, 1), ch_attention_map(seen[1], 0, 1),
                        one.length * 5 * sizeof(float));
    ch_attention_free(seen[0]);
    ch_attention_free(seen[1]);
    ch_model_free(a);
    ch_model_free(b);
    ch_recipe_free(dry);
    ch_recipe_free(wet);
}

/* ---- memory ---- */

static void a_step_allocates_nothing(void **state) {
    (void)state;
    for (int way = 0; way < 8; way++) {
        ch_recipe *recipe = small_recipe("6", way & 4 ? "2" : "1");
        set_option(recipe, "attention", way & 1 ? "explicit" : "fused");
        set_option(recipe, "rng", way & 2 ? "torch" : "philox");
        ch_trainer *trainer = trainer_of(recipe, NULL);
        take_steps(trainer, 1);
        uint64_t before = mem_allocations();
        take_steps(trainer, 10);
        assert_int_equal(mem_allocations(), before);
        ch_trainer_free(trainer);
        ch_recipe_free(recipe);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cosine_is_nanogpts),
        cmocka_unit_test(a_trainer_takes_its_schedules_rate),
        cmocka_unit_test(same_bits_at_any_number_of_threads),
        cmocka_unit_test(a_seed_is_a_run),
        cmocka_unit_test(what_is_not_trained_stays),
        cmocka_unit_test(tied_gradients_add_up),
        cmocka_unit_test(turned_weights_serve_all_products),
        cmocka_unit_test(matrices_decay_and_nothing_else),
        cmocka_unit_test(evaluation_knows_no_threads),
        cmocka_unit_test(evaluation_knows_no_dropout),
        cmocka_unit_test(a_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

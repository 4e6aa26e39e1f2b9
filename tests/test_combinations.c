/*
 * Whole models of every preset and of 50 random combinations of parts: gradients against central differences (in
 * double), training, files, dumps. The laws and decoding walk them elsewhere (test_laws.c, test_decode.c).
 */
#include "combinations.h"
#include "gradient.h"

#include "inspect/tensors.h"

#include <stdlib.h>
#include <string.h>

/* Small; every second one with dropout. */
static ch_recipe *recipe_at(size_t i, const char **name) {
    ch_recipe *recipe = recipe_of("d-ff", "10", "layers", "2", "min-len", "2", "max-len", "4", "batch-size", "3",
                                  "threads", "1", "validation", "4", "average", "0", "warmup", "1", NULL);
    set_option(recipe, "dropout", i % 2 ? "0.2" : "0");
    *name = set_combination(recipe, i);
    return recipe;
}

/* Calls a check for each, with a fresh model. */
static void for_each_one(void (*check)(const ch_recipe *recipe, ch_model *model, const char *name)) {
    const char *name;
    for (size_t i = 0;; i++) {
        ch_recipe *recipe = recipe_at(i, &name);
        if (name) {
            print_message("             %s\n", name);
            ch_model *model = model_of_case(recipe, name);
            check(recipe, model, name);
            ch_model_free(model);
        }
        ch_recipe_free(recipe);
        if (!name) return;
    }
}

/* ---- what was drawn ---- */

/* Words of all that were drawn hold each variant of each family that is an option of models. */
static bool was_drawn(const char *family, const char *variant) {
    const char *name;
    bool drawn = false;
    for (size_t i = 0; !drawn; i++) {
        ch_recipe *recipe = recipe_at(i, &name);
        if (name) drawn = strcmp(ch_recipe_get(recipe, family), variant) == 0;
        ch_recipe_free(recipe);
        if (!name) return false;
    }
    return true;
}

static void every_variant_is_among_them(void **state) {
    (void)state;
    const ch_option *row;
    for (size_t i = 0; (row = ch_recipe_option(i)); i++)
        for (size_t v = 0; strcmp(row->group, "model") == 0 && ch_family_variant(row->name, v); v++)
            if (!was_drawn(row->name, ch_family_variant(row->name, v)->name))
                fail_msg("no combination has --%s %s", row->name, ch_family_variant(row->name, v)->name);
    print_message("             %d combinations, %d refused on the way\n", COMBINATIONS, combinations_refused());
}

/* ---- gradients ---- */

struct case_of {
    struct lab *lab;
    real *logits;
};

static double model_loss(struct subject *s) {
    struct case_of *c = s->layer;
    const struct frame *frame = &c->lab->shard.frame;
    const struct assembly *net = &c->lab->model->net;
    struct assembly_input input = frame_input(frame);
    c->logits = assembly_forward(&s->pass, net, &input, &c->lab->shard.workspace.saved);
    int rows = assembly_logit_rows(net, frame_last(frame));
    return 0.2 * cross_entropy(c->logits, c->logits, frame->label, -1, RC(0.2), rows, net->outputs).sum;
}

static void model_back(struct subject *s) {
    struct case_of *c = s->layer;
    assembly_backward(&s->pass, &c->lab->model->net, c->logits, &c->lab->shard.workspace.saved);
}

static void check_gradients(const ch_recipe *recipe, ch_model *model, const char *name) {
    struct subject *s = malloc(sizeof *s);
    struct lab lab = lab_new(model, recipe, NULL);
    struct case_of c = {.lab = &lab};
    assert_non_null(s);
    subject_start(s, recipe->dropout, "%.100s", name);
    s->pass.core = recipe->attention;
    subject_borrow(s, &model->params);
    s->layer = &c;
    s->loss = model_loss;
    s->backward = model_back;
    subject_check(s);
    subject_end(s);
    lab_free(&lab);
    free(s);
}

/* Every element of every parameter. */
static void gradients(void **state) {
    (void)state;
    if (!IN_DOUBLE) skip(); /* central differences see nothing in float */
    for_each_one(check_gradients);
}

/* ---- training, files, dumps ---- */

static void check_training(const ch_recipe *recipe, ch_model *model, const char *name) {
    if (model->net.head == &head_masked_token) return; /* no task hides tokens */
    ch_trainer *trainer = trainer_of(recipe, NULL);
    double loss = (double)INFINITY;
    for (int i = 0; i < 3; i++) loss = take_steps(trainer, 1).loss;
    if (!isfinite(loss)) fail_msg("%s: the loss is %g", name, loss);
    ch_trainer_free(trainer);
}

static void all_are_trained(void **state) {
    (void)state;
    for_each_one(check_training);
}

static char *folder;

/* The same parts, the same bits, the same logits. */
static void check_file(const ch_recipe *recipe, ch_model *model, const char *name) {
    const char *path = path_in(folder, "model.safetensors");
    ch_error error;
    check_ok(ch_model_save(model, path, &error), &error);
    ch_model *back = open_model(path);
    assert_true(config_same(&back->config, &model->config));
    check_same(name, back->params.value, model->params.value, model->params.block);
    struct lab a = lab_new(model, recipe, NULL), b = lab_new(back, recipe, NULL);
    size_t count;
    real *logits = lab_logits(&a, &count), *again = lab_logits(&b, &count);
    check_same(name, again, logits, count);
    free(logits), free(again);
    lab_free(&a);
    lab_free(&b);
    ch_model_free(back);
}

static void all_come_back_from_files(void **state) {
    (void)state;
    folder = make_temp_folder();
    for_each_one(check_file);
    remove_folder(folder);
}

/* Everything is a number, and every parameter has a gradient. */
static void check_dump(const ch_recipe *recipe, ch_model *model, const char *name) {
    static const int source[] = {1, 0, 3, 2}, target[] = {2, 3, 0, 1};
    static const ch_dump_options options = {.backward = true};
    (void)recipe;
    size_t labels = model->net.head->classes ? 1 : 4;
    ch_tensors *tensors;
    ch_tensor tensor;
    ch_error error;
    ch_sequence to = {model->net.head->classes ? source : target, labels};
    check_ok(ch_dump(model, (ch_sequence){source, 4}, to, &options, &tensors, &error), &error);
    for (size_t i = 0; ch_tensors_get(tensors, i, &tensor); i++) {
        const struct named_tensor *named = tensors_find(tensors, tensor.name);
        for (size_t k = 0; k < named->count; k++)
            if (!isfinite(named->value[k])) fail_msg("%s: %s[%zu] is not finite", name, tensor.name, k);
    }
    for (int i = 0; i < model->params.count; i++) {
        char gradient[2 * PARAM_NAME] = "grad.";
        if (!param_is_trained(&model->params.row[i])) continue;
        strcat(gradient, model->params.row[i].name);
        if (!tensors_find(tensors, gradient)) fail_msg("%s: there is no %s", name, gradient);
    }
    ch_tensors_free(tensors);
}

static void all_are_dumped(void **state) {
    (void)state;
    for_each_one(check_dump);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_is_among_them),
        cmocka_unit_test(gradients),
        cmocka_unit_test(all_are_trained),
        cmocka_unit_test(all_come_back_from_files),
        cmocka_unit_test(all_are_dumped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

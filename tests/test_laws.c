/*
 * Laws of a whole model, checked without knowing a single right number: what may not see what, and which two ways
 * must give the same. "The same" is bit for bit where the order of the sums is the same, and else 1e-5. They hold with
 * every norm, position and feed-forward, every preset and any combination: all are checked with each.
 */
#include "combinations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct attention_core *const cores[] = {&attention_explicit, &attention_fused};

static size_t round_number; /* of the part or combination that all models have */

/* Small, of odd sizes, with sequences of many lengths. */
static ch_recipe *small_recipe(const char *dropout, const char **name) {
    ch_recipe *recipe = recipe_of("d-model", "18", "heads", "3", "d-ff", "29", "layers", "2", "min-len", "1", "max-len",
                                  "9", "max-positions", "16", "batch-size", "7", "seed", "3", "dropout", dropout, NULL);
    *name = set_case(recipe, round_number);
    set_option(recipe, "init", "xavier"); /* numbers so large that every effect is seen */
    return recipe;
}

struct world {
    ch_recipe *recipe;
    ch_model *model;
    struct lab lab;
};

static struct world world_new(const char *dropout, const struct attention_core *core, const struct capture *capture) {
    const char *name;
    struct world world = {.recipe = small_recipe(dropout, &name)};
    world.recipe->attention = core;
    world.model = model_of_case(world.recipe, name);
    world.lab = lab_new(world.model, world.recipe, capture);
    return world;
}

static void world_free(struct world *world) {
    lab_free(&world->lab);
    ch_model_free(world->model);
    ch_recipe_free(world->recipe);
}

/* ---- what may not see what ---- */

/* Another token at place t of every sequence: whatever stands before it must not move by a bit, itself must. */
static void check_no_leak(struct world *world, int t) {
    const struct batch *batch = &world->lab.shard.frame.target.view;
    size_t count, vocab = (size_t)world->model->net.outputs;
    real *before = lab_logits(&world->lab, &count);
    int *token = world->lab.shard.frame.target.token;
    for (int b = 0; b < batch->sequences; b++)
        if (t < batch->length[b]) token[batch->offset[b] + t] = (token[batch->offset[b] + t] + 1) % 10;
    real *after = lab_logits(&world->lab, &count);
    for (int b = 0; b < batch->sequences; b++)
        for (int i = 0; i < batch->length[b]; i++) {
            size_t at = (size_t)(batch->offset[b] + i) * vocab;
            if (i < t || t >= batch->length[b]) check_same("logits before the change", after + at, before + at, vocab);
            if (i == t) assert_true(worst_difference(after + at, before + at, vocab) > 0);
        }
    free(before);
    free(after);
}

static void future_is_hidden(void **state) {
    (void)state;
    for (int c = 0; c < 2; c++) {
        struct world world = world_new("0", cores[c], NULL);
        int longest = world.model->net.arch->decoder ? world.lab.shard.frame.target.view.longest : 0;
        for (int t = 0; t < longest; t++) check_no_leak(&world, t);
        world_free(&world);
    }
}

/* Each sequence alone and among the others. The matrix product may sum a lone row in another order: 1e-6 with the
 * lesson's parts, whose numbers are near 1, and "the same" with others. */
static void batch_mates_change_nothing(void **state) {
    (void)state;
    struct world all = world_new("0", &attention_fused, NULL), one = world_new("0", &attention_fused, NULL);
    const struct frame *frame = &all.lab.shard.frame;
    const struct batch *last = frame_last(frame);
    size_t count, alone_count, outputs = (size_t)all.model->net.outputs;
    real *together = lab_logits(&all.lab, &count);
    for (int b = 0; b < last->sequences; b++) {
        frame_take(&one.lab.shard.frame, frame, b, 1);
        real *alone = lab_logits(&one.lab, &alone_count);
        size_t row = (size_t)(all.model->net.head->classes ? b : last->offset[b]);
        check_close("logits alone", alone, together + row * outputs, alone_count, round_number ? 1e-5 : 1e-6);
        free(alone);
    }
    free(together);
    world_free(&one);
    world_free(&all);
}

/* ---- two ways to the same ---- */

static void fused_is_explicit(void **state) {
    (void)state;
    const char *const dropouts[] = {"0", "0.3"};
    for (int d = 0; d < 2; d++) {
        struct world plain = world_new(dropouts[d], &attention_explicit, NULL);
        struct world fused = world_new(dropouts[d], &attention_fused, NULL);
        real loss[] = {(real)lab_step(&plain.lab), (real)lab_step(&fused.lab)};
        check_close("loss", &loss[1], &loss[0], 1, 1e-5);
        check_close("gradient", fused.lab.grad, plain.lab.grad, plain.lab.block, 1e-5);
        world_free(&plain);
        world_free(&fused);
    }
}

/* Dropout must do something, or the laws about it are empty. */
static void dropout_changes_the_step(void **state) {
    (void)state;
    struct world off = world_new("0", &attention_fused, NULL), on = world_new("0.3", &attention_fused, NULL);
    size_t count;
    real *plain = lab_logits(&off.lab, &count), *dropped = lab_logits(&on.lab, &count);
    assert_true(worst_difference(dropped, plain, count) > 1e-3); /* losses may meet by chance */
    free(plain), free(dropped);
    world_free(&off);
    world_free(&on);
}

/* Gradients of two parts of a batch add up to that of the whole, dropout included: a mask knows the example's number.
 */
static void two_halves_are_one(void **state) {
    (void)state;
    struct world whole = world_new("0.3", &attention_fused, NULL), half = world_new("0.3", &attention_fused, NULL);
    real loss = (real)lab_step(&whole.lab), sum = 0;
    int sequences = frame_last(&whole.lab.shard.frame)->sequences, counted = whole.lab.shard.frame.counted;
    memset(half.lab.grad, 0, half.lab.block * sizeof(real));
    for (int part = 0; part < 2; part++) {
        int first = part ? sequences / 2 : 0, end = part ? sequences : sequences / 2;
        frame_take(&half.lab.shard.frame, &whole.lab.shard.frame, first, end - first);
        shard_run(&half.lab.shard, half.model, half.lab.pass, RC(1.0 / counted));
        sum += (real)(half.lab.shard.loss.sum / counted);
    }
    check_close("loss", &sum, &loss, 1, 1e-5);
    check_close("gradient", half.lab.grad, whole.lab.grad, whole.lab.block, 1e-5);
    world_free(&whole);
    world_free(&half);
}

/* ---- looking ---- */

static bool wants_all(void *context, const char *layer, const char *site) {
    (void)context, (void)layer, (void)site;
    return true;
}

static void count_rows(void *context, const char *layer, const char *site, const real *x, int ld, int channels,
                       const struct batch *batch) {
    (void)layer, (void)site, (void)x, (void)ld, (void)channels, (void)batch;
    ++*(int *)context;
}

static void count_map(void *context, const char *layer, const char *site, int sequence, int head, const real *x,
                      int queries, int keys) {
    (void)layer, (void)site, (void)sequence, (void)head, (void)x, (void)queries, (void)keys;
    ++*(int *)context;
}

static void count_gradient(void *context, const char *layer, const char *site, const real *dx, int ld, int channels,
                           int rows) {
    (void)layer, (void)site, (void)dx, (void)ld, (void)channels, (void)rows;
    ++*(int *)context;
}

static void looking_changes_nothing(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        int shown = 0;
        struct capture capture = {.wants = wants_all,
                                  .rows = count_rows,
                                  .map = count_map,
                                  .gradient = count_gradient,
                                  .map_gradient = count_map,
                                  .context = &shown};
        const char *dropout = way / 2 ? "0.3" : "0";
        struct world blind = world_new(dropout, cores[way % 2], NULL);
        struct world seeing = world_new(dropout, cores[way % 2], &capture);
        real loss[] = {(real)lab_step(&blind.lab), (real)lab_step(&seeing.lab)};
        /* of 7 sequences and all heads of all attentions, each map twice and each of its gradients, too */
        int attentions = config_attentions(&seeing.model->config), heads = (int)seeing.recipe->heads;
        assert_true(shown > attentions * (7 * heads * 4 + 16));
        check_same("loss", &loss[1], &loss[0], 1);
        check_same("gradient", seeing.lab.grad, blind.lab.grad, blind.lab.block);
        size_t count;
        real *a = lab_logits(&blind.lab, &count), *b = lab_logits(&seeing.lab, &count);
        check_same("logits", b, a, count);
        blind.lab.pass.grad = seeing.lab.pass.grad = NULL; /* and so in inference */
        real *c = lab_logits(&blind.lab, &count), *d = lab_logits(&seeing.lab, &count);
        check_same("logits of inference", d, c, count);
        check_same("logits of inference and training", c, a, count);
        free(a), free(b), free(c), free(d);
        world_free(&blind);
        world_free(&seeing);
    }
}

/* What the core used is what the map says: the captured weights times the values are the heads' output. */
struct product {
    const char *layer;             /* the first attention of the first stack */
    real *weights, *value, *heads; /* (B, H, longest, longest), (N, K * Dh), (N, H * Dh) */
    int longest, heads_count;
};

static bool wants_first(void *context, const char *layer, const char *site) {
    const struct product *p = context;
    return strcmp(layer, p->layer) == 0 && strcmp(site, "out") != 0;
}

static void keep_rows(void *context, const char *layer, const char *site, const real *x, int ld, int channels,
                      const struct batch *batch) {
    (void)layer;
    struct product *p = context;
    real *to = strcmp(site, "value") == 0 ? p->value : strcmp(site, "heads") == 0 ? p->heads : NULL;
    for (int n = 0; to && n < batch->rows; n++)
        memcpy(to + (size_t)n * (size_t)channels, x + (size_t)n * (size_t)ld, (size_t)channels * sizeof *to);
}

static void keep_map(void *context, const char *layer, const char *site, int sequence, int head, const real *x,
                     int queries, int keys) {
    (void)layer;
    struct product *p = context;
    if (strcmp(site, "weights") != 0) return;
    size_t side = (size_t)p->longest, at = ((size_t)sequence * (size_t)p->heads_count + (size_t)head) * side * side;
    for (int i = 0; i < queries; i++)
        memcpy(p->weights + at + (size_t)i * side, x + (size_t)i * (size_t)keys, (size_t)keys * sizeof *x);
}

static void check_product(const struct product *p, const struct batch *batch, const struct attention_shape *shape) {
    int d_head = shape->d_head;
    size_t side = (size_t)p->longest, width = (size_t)(p->heads_count * d_head);
    size_t kv_width = (size_t)(shape->kv_heads * d_head);
    for (int b = 0; b < batch->sequences; b++)
        for (int h = 0; h < p->heads_count; h++)
            for (int i = 0; i < batch->length[b]; i++) {
                const real *w =
                    p->weights + (((size_t)b * (size_t)p->heads_count + (size_t)h) * side + (size_t)i) * side;
                real mass = 0, one = 1;
                for (int j = 0; j < batch->length[b]; j++) mass += w[j];
                check_close("a row of weights", &mass, &one, 1, 1e-6);
                for (int d = 0; d < d_head; d++) {
                    size_t column = (size_t)(h * d_head + d), kv = (size_t)(shape->kv_of_head[h] * d_head + d);
                    real sum = 0;
                    for (int j = 0; j < batch->length[b]; j++)
                        sum += w[j] * p->value[(size_t)(batch->offset[b] + j) * kv_width + kv];
                    check_close("weights times values", &sum,
                                &p->heads[(size_t)(batch->offset[b] + i) * width + column], 1, 1e-5);
                }
            }
}

static void map_times_values_is_the_output(void **state) {
    (void)state;
    for (int c = 0; c < 2; c++) {
        enum { HEADS = 4, LONGEST = 9 + 10 }; /* at most; of a source and its target in one row */
        struct product p = {.longest = LONGEST};
        p.weights = new_reals(7 * HEADS * LONGEST * LONGEST);
        p.value = new_reals(7 * LONGEST * 24);
        p.heads = new_reals(7 * LONGEST * 24);
        struct capture capture = {.wants = wants_first, .rows = keep_rows, .map = keep_map, .context = &p};
        struct world world = world_new("0", cores[c], &capture);
        const struct assembly *net = &world.model->net;
        const struct attention *first = net->arch->encoder ? &net->encoder.block[0].self : &net->decoder.block[0].self;
        const struct frame *frame = &world.lab.shard.frame;
        p.layer = first->name;
        p.heads_count = first->shape.heads;
        size_t count;
        free(lab_logits(&world.lab, &count));
        check_product(&p, net->arch->encoder ? &frame->source.view : &frame->target.view, &first->shape);
        world_free(&world);
        free(p.weights), free(p.value), free(p.heads);
    }
}

/* ---- padding ---- */

/* Here the padding token is a real token of every sequence, so that a gradient for its row would come. */
static void padding_row_gets_no_gradient(void **state) {
    (void)state;
    struct world world = world_new("0", &attention_fused, NULL);
    int pad = ch_vocab_pad(&world.model->vocab), tables = 0;
    struct batch_buffer *const side[] = {&world.lab.shard.frame.source, &world.lab.shard.frame.target};
    for (int i = 0; i < 2; i++)
        for (int b = 0; b < side[i]->view.sequences; b++) side[i]->token[side[i]->offset[b]] = pad;
    lab_step(&world.lab);
    for (int i = 0; i < world.model->params.count; i++) {
        const struct param *row = &world.model->params.row[i];
        if (row->frozen_row != pad) continue;
        const real *grad = world.lab.grad + row->offset;
        size_t width = (size_t)row->shape[1], nonzero = 0;
        for (size_t c = 0; c < width; c++) assert_true(grad[(size_t)pad * width + c] == 0);
        for (size_t k = 0; k < row->count; k++) nonzero += grad[k] != 0;
        assert_true(nonzero > 5 * width);
        tables++;
    }
    const struct arch *arch = world.model->net.arch;
    const struct tie *tie = world.model->config.tie; /* the output's table has no frozen row */
    assert_int_equal(tables, arch->encoder + arch->decoder - tie->source - tie->output);
    world_free(&world);
}

/* Cut every edge of cross-attention, and the source cannot matter; before that it does. */
static void cut_edges_carry_nothing(void **state) {
    (void)state;
    static const struct knockout all = {-1, 0, 1000, 0, 1000};
    static const struct cut cuts[] = {{"dec.0.cross_attn", &all, 1}, {"dec.1.cross_attn", &all, 1}};
    for (size_t c = 0; c < sizeof cores / sizeof *cores; c++)
        for (int cut = 0; cut < 2; cut++) {
            struct world world = world_new("0", cores[c], NULL);
            if (!config_has(&world.model->config, CONFIG_DECODER_CROSS)) {
                world_free(&world);
                return;
            }
            size_t count;
            world.lab.pass.cuts = cuts;
            world.lab.pass.cut_count = cut ? 2 : 0;
            real *before = lab_logits(&world.lab, &count);
            for (int n = 0; n < world.lab.shard.frame.source.view.rows; n++) world.lab.shard.frame.source.token[n] ^= 1;
            real *after = lab_logits(&world.lab, &count);
            if (cut)
                check_same("logits without cross-attention", after, before, count);
            else
                assert_true(worst_difference(after, before, count) > 1e-3);
            free(before);
            free(after);
            world_free(&world);
        }
}

/* ---- places ---- */

enum { LEAD = 3 };

/* The batch of another, each sequence behind LEAD tokens more. */
static struct batch_buffer with_lead(const struct batch_buffer *from) {
    int length[16];
    for (int b = 0; b < from->view.sequences; b++) length[b] = from->length[b] + LEAD;
    struct batch_buffer to = packed_batch(length, from->view.sequences, 0, 0);
    for (int b = 0; b < from->view.sequences; b++) {
        int *token = to.token + to.offset[b];
        for (int t = 0; t < LEAD; t++) token[t] = 1;
        memcpy(token + LEAD, from->token + from->offset[b], (size_t)from->length[b] * sizeof *token);
    }
    return to;
}

/* Nothing looks at the leading tokens but they themselves. */
static void cut_lead(struct lab *lab, struct cut cuts[6], char names[6][32]) {
    static const struct knockout lead = {-1, LEAD, 1000, 0, LEAD}, of_all = {-1, 0, 1000, 0, LEAD};
    const struct config *config = &lab->model->config;
    int count = 0;
    for (enum config_attention which = CONFIG_ENCODER_SELF; which < CONFIG_ATTENTIONS; which++)
        for (int layer = 0; layer < 2 && config_has(config, which); layer++, count++) {
            snprintf(names[count], sizeof names[count], config_attention_name(config, which), layer);
            cuts[count] = (struct cut){names[count], which == CONFIG_DECODER_CROSS ? &of_all : &lead, 1};
        }
    lab->pass.cuts = cuts;
    lab->pass.cut_count = count;
}

/* How far logits move when all sequences move back by a few places. The two worlds are alike. */
static real moved_by(struct world *world, struct world *moved) {
    size_t count, vocab = (size_t)ch_vocab_size(&world->model->vocab);
    real *expected = lab_logits(&world->lab, &count), worst = 0;
    struct cut cuts[6];
    char names[6][32];
    struct lab lab = moved->lab;
    struct batch_limits limits = {7, 9 + LEAD, 9 + 10 + LEAD};
    ch_error error;
    check_ok(shard_new(&lab.shard, moved->model, &lab.pass, &limits, true, &error), &error);
    struct batch_buffer source = lab.shard.frame.source, target = lab.shard.frame.target; /* its own, not needed */
    lab.shard.frame.source = with_lead(&world->lab.shard.frame.source);
    lab.shard.frame.target = with_lead(&world->lab.shard.frame.target);
    cut_lead(&lab, cuts, names);
    real *found = lab_logits(&lab, &count);
    const struct batch_buffer *before = &world->lab.shard.frame.target, *behind = &lab.shard.frame.target;
    for (int b = 0; b < before->view.sequences; b++) {
        const real *a = found + (size_t)(behind->offset[b] + LEAD) * vocab;
        real d =
            RC(worst_difference(a, expected + (size_t)before->offset[b] * vocab, (size_t)before->length[b] * vocab));
        worst = d > worst ? d : worst;
    }
    batch_buffer_free(&lab.shard.frame.source);
    batch_buffer_free(&lab.shard.frame.target);
    lab.shard.frame.source = source;
    lab.shard.frame.target = target;
    shard_free(&lab.shard);
    free(expected), free(found);
    return worst;
}

/* All sequences moved back by a few places that nobody looks at: where positions tell distances alone, and so can
 * extend, nothing changes, and where they tell places, something does. Windows are of distances, too. An encoder alone
 * has nothing to compare: a class is read off the first row, which is another one then. */
static void moving_changes_only_what_knows_places(void **state) {
    (void)state;
    for (int c = 0; c < 2; c++) {
        struct world world = world_new("0", cores[c], NULL), moved = world_new("0", cores[c], NULL);
        if (world.model->net.arch->decoder) {
            real worst = moved_by(&world, &moved);
            if (world.model->config.position->can_extend)
                assert_true(worst <= RC(1e-5));
            else
                assert_true(worst > RC(1e-3));
        }
        world_free(&world);
        world_free(&moved);
    }
}

/* ---- heads ---- */

/* The rows of head kv_of(h) of a group of heads, for every h. */
static void repeat_heads(real *to, const real *from, size_t head, int heads, int each) {
    for (int h = 0; h < heads; h++) memcpy(to + (size_t)h * head, from + (size_t)(h / each) * head, head * sizeof *to);
}

/* Heads that share keys and values give what as many heads give that have copies of them. */
static void shared_heads_are_repeated_heads(void **state) {
    (void)state;
    enum { HEADS = 4, SHARED = 2 };
    ch_recipe *recipe = recipe_of("d-model", "8", "heads", "4", "d-ff", "12", NULL);
    set_case(recipe, round_number);
    bool wide = recipe->d_model != 8; /* a combination's own width, whatever its heads were */
    set_options(recipe, wide ? "heads=4 kv-heads=2 d-head=4" : "heads=4 kv-heads=2");
    ch_model *shared = model_of(recipe);
    set_option(recipe, "kv-heads", "4");
    ch_model *repeated = model_of(recipe);
    for (int i = 0; i < shared->params.count; i++) {
        const struct param *row = &shared->params.row[i];
        const real *from = shared->params.value + row->offset;
        if (strstr(row->name, ".W_k.") || strstr(row->name, ".W_v."))
            repeat_heads(values_of(repeated, row->name), from, row->count / SHARED, HEADS, HEADS / SHARED);
        else
            memcpy(values_of(repeated, row->name), from, row->count * sizeof *from);
    }
    struct lab a = lab_new(shared, recipe, NULL), b = lab_new(repeated, recipe, NULL);
    size_t count;
    real *few = lab_logits(&a, &count), *all = lab_logits(&b, &count);
    check_close("logits", few, all, count, 1e-5);
    free(few), free(all);
    lab_free(&a);
    lab_free(&b);
    ch_model_free(shared);
    ch_model_free(repeated);
    ch_recipe_free(recipe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_edges_carry_nothing),
        cmocka_unit_test(future_is_hidden),
        cmocka_unit_test(batch_mates_change_nothing),
        cmocka_unit_test(fused_is_explicit),
        cmocka_unit_test(dropout_changes_the_step),
        cmocka_unit_test(two_halves_are_one),
        cmocka_unit_test(looking_changes_nothing),
        cmocka_unit_test(map_times_values_is_the_output),
        cmocka_unit_test(padding_row_gets_no_gradient),
        cmocka_unit_test(shared_heads_are_repeated_heads),
        cmocka_unit_test(moving_changes_only_what_knows_places),
    };
    int failed = 0;
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    for (const char *name; (name = set_case(recipe, round_number)); round_number++) {
        print_message("             --- %s ---\n", name);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    ch_recipe_free(recipe);
    return failed;
}

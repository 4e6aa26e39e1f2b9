#include "train/trainer.h"
#include "base/memory.h"
#include "optim/average.h"
#include "train/evaluate.h"

#include <string.h>
#include <unistd.h>

enum { CHUNK = 16384 }; /* elements of a piece of the gradient: fixed, so that sums do not depend on threads */

/* ---- building ---- */

static int least(int64_t a, int64_t b) {
    return (int)(a < b ? a : b);
}

/* Of the longest examples. */
static int64_t rows_of_shard(const ch_recipe *recipe, int shards) {
    struct example_limits most = recipe_most_tokens(recipe);
    return (recipe->batch_size + shards - 1) / shards * (most.source + most.target);
}

/* PyTorch's generator draws whole batches in order: one shard. Where shards have few rows for the width of the weights,
 * reading these is what takes the time: one for each lane, then. */
int trainer_shards(const ch_recipe *recipe) {
    enum { FEW = 4 };
    if (recipe->rng->torch) return 1;
    int shards = least(TRAIN_SHARDS, recipe->batch_size);
    bool few = rows_of_shard(recipe, shards) < recipe->d_model / FEW;
    return few ? least(TRAIN_LANES, shards) : shards;
}

int trainer_lanes(const ch_recipe *recipe) {
    return least(TRAIN_LANES, trainer_shards(recipe));
}

struct batch_limits trainer_limits(const struct ch_model *model, const ch_recipe *recipe) {
    int shards = trainer_shards(recipe);
    return shard_limits(model, recipe, (int)((recipe->batch_size + shards - 1) / shards));
}

struct pass trainer_pass(struct ch_trainer *trainer, int64_t step) {
    const ch_recipe *recipe = &trainer->recipe;
    return (struct pass){.core = recipe->attention,
                         .dropout = recipe->dropout == 0 ? DROPOUT_OFF
                                    : recipe->rng->torch ? DROPOUT_TORCH
                                                         : DROPOUT_PHILOX,
                         .dropout_rate = RC(recipe->dropout),
                         .dropout_key = philox_derive((uint64_t)recipe->seed, PHILOX_DROPOUT, (uint64_t)step),
                         .torch = &trainer->torch};
}

static struct pass measuring_pass(const ch_recipe *recipe) {
    return (struct pass){.core = recipe->attention,
                         .dropout = recipe->dropout == 0 ? DROPOUT_OFF
                                    : recipe->rng->torch ? DROPOUT_TORCH
                                                         : DROPOUT_PHILOX,
                         .dropout_rate = RC(recipe->dropout)};
}

/* As many sequences as a shard has, so that products have the same sizes; more where they would be small. */
int trainer_validation_batch(const ch_recipe *recipe) {
    enum { TOKENS = 160 };
    int shards = trainer_shards(recipe), shard = (int)((recipe->batch_size + shards - 1) / shards);
    struct example_limits most = recipe_most_tokens(recipe);
    int longest = most.source > most.target ? most.source : most.target - 1, fit = TOKENS / longest;
    return shard > fit ? shard : fit;
}

int trainer_uses(const struct ch_model *model, const ch_recipe *recipe, struct shard_use *use) {
    use[0] =
        (struct shard_use){.pass = measuring_pass(recipe), .limits = trainer_limits(model, recipe), .backward = true};
    use[1] = evaluate_use(model, recipe, trainer_validation_batch(recipe));
    return recipe->validation ? TRAINER_USES : 1;
}

static ch_status check_memory(const struct ch_trainer *t, ch_error *error) {
    struct trainer_memory memory = trainer_measure(t->model, &t->material, true);
    return memory_check("training this recipe needs", trainer_memory_total(&memory), error);
}

/* From `from` to `to`, in chunks. */
static void add_chunks(struct ch_trainer *t, size_t from, size_t to) {
    for (; from < to; from += CHUNK)
        t->piece[t->pieces++] = (struct piece){from, to - from < CHUNK ? to - from : CHUNK, -1};
}

/* The group of products that begins at an element, if its weights are kept turned; else NULL. */
static const struct param *next_group(const struct ch_trainer *t, size_t from, size_t *end) {
    const struct params *params = &t->model->params;
    const struct param *next = NULL;
    for (int i = 0; i < params->count && t->turned; i++) {
        const struct param *row = &params->row[i];
        bool first = row->product && row->together == i && param_is_trained(row) && row->offset >= from;
        if (first && (!next || row->offset < next->offset)) next = row;
    }
    if (!next) return NULL;
    *end = next->offset;
    for (int i = (int)(next - params->row); i >= 0; i = params->row[i].next) *end += params->row[i].count;
    return next;
}

/* Groups of weights that are kept turned are updated whole, all else in chunks: nothing depends on where it is cut. */
static bool new_pieces(struct ch_trainer *t) {
    const struct params *params = &t->model->params;
    t->piece = mem_new(params->trained / CHUNK + 2 * (size_t)params->count + 1, sizeof *t->piece);
    if (!t->piece) return false;
    size_t from = 0, end = 0;
    for (const struct param *row; (row = next_group(t, from, &end)); from = end) {
        add_chunks(t, from, row->offset);
        t->piece[t->pieces++] = (struct piece){row->offset, end - row->offset, (int)(row - params->row)};
    }
    add_chunks(t, from, params->trained);
    return true;
}

static ch_status new_state(struct ch_trainer *t, ch_error *error) {
    bool complete = true;
    if (params_turn_pays(&t->model->params)) complete = (t->turned = params_new_turned(&t->model->params));
    for (int m = 0; m < t->recipe.optimizer->moments; m++)
        complete = complete && (t->moment[m] = params_new_block(&t->model->params));
    if (t->recipe.optimizer->decays) complete = complete && decay_new(&t->decay, &t->model->params);
    for (int lane = 0; lane < t->lanes; lane++)
        complete = complete && (t->grad[lane] = params_new_block(&t->model->params));
    if (t->recipe.log_gradients) complete = complete && (t->before = params_new_block(&t->model->params));
    complete = complete && new_pieces(t);
    t->chunks = (int)((t->model->params.trained + CHUNK - 1) / CHUNK);
    t->chunk_norm = mem_new((size_t)t->chunks, sizeof *t->chunk_norm);
    return complete && t->chunk_norm ? CH_OK : fail_memory(error, "the optimiser's state");
}

/* The mean starts at the initial weights, which step 1 replaces. */
static ch_status new_result(struct ch_trainer *t, ch_error *error) {
    t->result = t->model;
    if (!t->recipe.average) return CH_OK;
    ch_status status = model_of_recipe(&t->recipe, &t->material.vocab, &t->result, error);
    if (status == CH_OK) status = model_allocate(t->result, error);
    if (status == CH_OK) memcpy(t->result->params.value, t->model->params.value, t->model->params.block * sizeof(real));
    return status;
}

/* Of a task, examples of another stream than training's, the same at every validation; never from PyTorch's generator,
 * whose draws count. */
static ch_status draw_held_out(struct ch_trainer *t, ch_error *error) {
    if (!t->material.held_out) return CH_OK;
    ch_status status = material_examples(&t->material, &t->held_out, t->material.held_out, error);
    if (status == CH_OK) material_hold_out(&t->material, &t->held_out);
    return status;
}

static ch_status new_shards(struct ch_trainer *t, ch_error *error) {
    struct shard_use uses[TRAINER_USES];
    int count = trainer_uses(t->model, &t->recipe, uses);
    ch_status status = CH_OK;
    for (int lane = 0; lane < t->lanes && status == CH_OK; lane++)
        status = shard_new_for(&t->lane[lane], t->model, uses, count, error);
    if (status != CH_OK) return status;
    int batch = (int)t->recipe.batch_size;
    struct example_limits most = recipe_most_tokens(&t->recipe);
    if (!deal_new(&t->deal, t->shards, batch, most.source + most.target)) return fail_memory(error, "a batch");
    return material_examples(&t->material, &t->examples, batch, error);
}

/* The optimiser's blocks of memory are only taken when all of them together fit. */
static ch_status build(struct ch_trainer *t, ch_error *error) {
    t->team = team_new(recipe_threads(&t->recipe));
    if (!t->team) return fail_memory(error, "a trainer");
    ch_status status = ch_recipe_check(&t->recipe, error);
    if (status == CH_OK) status = material_open(&t->material, &t->recipe, NULL, error);
    if (status == CH_OK) bands_check_text(&t->recipe.bands, t->material.mark);
    if (status == CH_OK) status = model_of_recipe(&t->recipe, &t->material.vocab, &t->model, error);
    if (status == CH_OK) status = check_memory(t, error);
    if (status != CH_OK) return status;
    torch_rng_seed(&t->torch, (uint64_t)t->recipe.seed);
    status = model_fill(t->model, &t->recipe, t->recipe.rng->torch ? &t->torch : NULL, error);
    if (status == CH_OK) status = new_result(t, error);
    if (status == CH_OK) status = new_state(t, error);
    if (status == CH_OK) status = new_shards(t, error);
    return status == CH_OK ? draw_held_out(t, error) : status;
}

ch_status trainer_new(const ch_recipe *recipe, struct ch_trainer **out, ch_error *error) {
    *out = NULL;
    struct ch_trainer *t = mem_new(1, sizeof *t);
    if (!t) return fail_memory(error, "a trainer");
    t->recipe = *recipe;
    t->log.descriptor = t->gradients.descriptor = t->lock = -1;
    t->saved_step = t->best_step = t->turned_step = -1;
    t->shards = trainer_shards(recipe);
    t->lanes = trainer_lanes(recipe);
    ch_assert(recipe->optimizer->moments <= MOST_MOMENTS);
    ch_status status = build(t, error);
    if (status == CH_OK)
        *out = t;
    else
        ch_trainer_free(t);
    return status;
}

void ch_trainer_free(ch_trainer *t) {
    if (!t) return;
    team_free(t->team);
    log_close(&t->log);
    log_close(&t->gradients);
    if (t->lock >= 0) close(t->lock);
    mem_free(t->folder);
    for (int m = 0; m < MOST_MOMENTS; m++) mem_free_aligned(t->moment[m]);
    for (int lane = 0; lane < TRAIN_LANES; lane++) {
        mem_free_aligned(t->grad[lane]);
        shard_free(&t->lane[lane]);
    }
    decay_free(&t->decay);
    mem_free(t->chunk_norm);
    mem_free(t->piece);
    mem_free_aligned(t->before);
    mem_free_aligned(t->turned);
    examples_release(&t->examples);
    deal_free(&t->deal);
    examples_release(&t->held_out);
    if (t->result != t->model) ch_model_free(t->result);
    ch_model_free(t->model);
    material_free(&t->material);
    mem_free(t);
}

const ch_recipe *ch_trainer_recipe(const ch_trainer *trainer) {
    return &trainer->recipe;
}

const ch_model *ch_trainer_model(const ch_trainer *trainer) {
    return trainer->result;
}

/* ---- one step ---- */

static void draw(struct ch_trainer *t) {
    material_draw(&t->material, &t->examples, PHILOX_DATA, t->recipe.rng->torch ? &t->torch : NULL,
                  (uint64_t)t->step + 1, (int)t->recipe.batch_size);
    deal_examples(&t->deal, &t->examples);
}

/* 1 / (labels of the batch): the loss is a mean. */
static real loss_scale(const struct ch_trainer *t) {
    int64_t labels = 0;
    for (int i = 0; i < t->examples.count; i++) labels += examples_labels(&t->examples, i);
    return RC(1.0 / (double)labels);
}

void trainer_run_shard(struct ch_trainer *t, struct shard *lane, int shard, struct pass pass) {
    const struct deal *deal = &t->deal;
    int first = deal->begin[shard], end = deal->begin[shard + 1];
    shard_load_these(lane, &t->examples, deal->example + first, end - first);
    profile_lap(pass.profile, OPERATION_DATA);
    shard_run(lane, t->model, pass, loss_scale(t));
    t->loss[shard] = lane->loss;
}

static void turn_weights(int row, void *context) {
    struct ch_trainer *t = context;
    params_turn(&t->model->params, t->turned, row);
}

static void run_lane(int lane, void *context) {
    struct ch_trainer *t = context;
    struct pass pass = trainer_pass(t, t->step + 1);
    pass.grad = t->grad[lane];
    pass.turned = t->turned;
    pass.profile = t->profiled ? &t->lane_profile[lane] : NULL;
    profile_start(pass.profile);
    params_clear_sums(&t->model->params, pass.grad);
    profile_lap(pass.profile, OPERATION_OPTIMISER);
    for (int shard = lane; shard < t->shards; shard += t->lanes) {
        pass.fresh = shard == lane;
        trainer_run_shard(t, &t->lane[lane], shard, pass);
    }
    profile_lap(pass.profile, OPERATION_OTHER);
}

static size_t chunk_length(const struct ch_trainer *t, int chunk) {
    size_t from = (size_t)chunk * CHUNK, left = t->model->params.trained - from;
    return left < CHUNK ? left : CHUNK;
}

/* Adds the lanes' gradients, always in the same order, and takes the norm of the piece. */
static void reduce_chunk(int chunk, void *context) {
    struct ch_trainer *t = context;
    size_t from = (size_t)chunk * CHUNK, length = chunk_length(t, chunk);
    for (int lane = 1; lane < t->lanes; lane++) add(t->grad[0] + from, t->grad[lane] + from, length);
    t->chunk_norm[chunk] = sum_of_squares(t->grad[0] + from, length);
}

struct update {
    struct ch_trainer *trainer;
    struct optimizer_constants constants;
    real grad_scale, kept; /* kept: of each matrix by its decay */
    double lr, share;
};

/* Weights that are kept turned are turned while they are near. */
static void update_piece(int number, void *context) {
    struct update *u = context;
    struct ch_trainer *t = u->trainer;
    const struct piece *piece = &t->piece[number];
    size_t from = piece->from, length = piece->count;
    real *value = t->model->params.value;
    decay_apply(&t->decay, value, u->kept, from, length);
    t->recipe.optimizer->update(&u->constants, value, t->moment, t->grad[0], u->grad_scale, u->lr, t->step + 1, from,
                                length);
    if (u->share > 0) move_towards(t->result->params.value + from, value + from, RC(u->share), length);
    if (piece->group >= 0) params_turn(&t->model->params, t->turned, piece->group);
}

static double gradient_norm(struct ch_trainer *t) {
    parallel_for(t->team, t->chunks, reduce_chunk, t);
    double sum = 0;
    for (int chunk = 0; chunk < t->chunks; chunk++) sum += t->chunk_norm[chunk];
    return sqrt(sum);
}

static double mean_loss(const struct ch_trainer *t) {
    double sum = 0;
    int64_t count = 0;
    for (int s = 0; s < t->shards; s++) {
        sum += t->loss[s].sum;
        count += t->loss[s].count;
    }
    return sum / (double)count;
}

static double rate_of(const struct ch_trainer *t, int64_t step) {
    const ch_recipe *r = &t->recipe;
    struct rates rates = {.lr = r->lr, .min_lr = r->min_lr, .warmup = r->warmup, .steps = r->steps};
    return r->schedule->rate(&rates, step);
}

/* Scales the norm down to the limit; PyTorch's clip_grad_norm_ has the 1e-6. */
static void update_parameters(struct ch_trainer *t, double norm) {
    double limit = t->recipe.clip, scale = limit > 0 ? limit / (norm + 1e-6) : 1, lr = rate_of(t, t->step + 1);
    struct update update = {.trainer = t,
                            .constants = optimizer_resolve(t->recipe.optimizer, t->recipe.constants),
                            .grad_scale = RC(scale < 1 ? scale : 1),
                            .kept = RC(1 - lr * t->recipe.weight_decay),
                            .lr = lr,
                            .share = t->recipe.average ? average_share(t->recipe.average, t->step + 1) : 0};
    parallel_for(t->team, t->pieces, update_piece, &update);
    t->turned_step = t->step + 1;
}

/* Step 1, every log-every steps, and the last. */
static bool shown(const ch_recipe *recipe, int64_t step) {
    return step == 1 || step % recipe->log_every == 0 || step == recipe->steps;
}

/* Where there is a band, the run is measured, whatever save-every is. */
bool trainer_saves(const struct ch_trainer *t, int64_t step) {
    return step % t->recipe.save_every == 0 || step == t->recipe.steps || bands_find(&t->recipe.bands, step);
}

bool trainer_logs(const struct ch_trainer *t, int64_t step) {
    return shown(&t->recipe, step) || trainer_saves(t, step);
}

ch_status ch_trainer_step(ch_trainer *t, ch_step *out, ch_error *error) {
    double started = profile_clock();
    struct profile *profile = t->profiled ? &t->own_profile : NULL;
    profile_start(profile);
    struct torch_rng before = t->torch;
    draw(t);
    struct torch_rng drawn = t->torch;
    profile_lap(profile, OPERATION_DATA);
    if (t->turned && t->turned_step != t->step) parallel_for(t->team, t->model->params.count, turn_weights, t);
    profile_lap(profile, OPERATION_TURNING);
    parallel_for(t->team, t->lanes, run_lane, t);
    profile_lap(profile, OPERATION_WAITING);
    double norm = gradient_norm(t), loss = mean_loss(t);
    profile_lap(profile, OPERATION_OPTIMISER);
    if (!isfinite(loss) || !isfinite(norm)) {
        ch_status status = trainer_blame(t, &drawn, loss, norm, error);
        t->torch = before;
        return status;
    }
    if (trainer_logs(t, t->step + 1)) signals_keep(t);
    profile_lap(profile, OPERATION_OTHER);
    update_parameters(t, norm);
    profile_lap(profile, OPERATION_OPTIMISER);
    t->step++;
    int64_t steps = t->recipe.steps;
    *out = (ch_step){.step = t->step,
                     .steps = steps,
                     .loss = loss,
                     .grad_norm = norm,
                     .lr = rate_of(t, t->step),
                     .next_lr = rate_of(t, t->step + 1),
                     .bits_per_character = (double)NAN,
                     .validation_loss = (double)NAN,
                     .seconds = profile_clock() - started,
                     .log = shown(&t->recipe, t->step)};
    return CH_OK;
}

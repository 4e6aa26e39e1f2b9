/*
 * Memory. A step after the first calls malloc exactly zero times: counted here by functions in malloc's own place, in
 * builds with the reference matrix product (others have scratch memory of their own) and without sanitizers (which have
 * a malloc of their own). And an allocator that fails at the n-th call makes a sentence, never a crash or a leak.
 */
#include "kernels/gemm.h"
#include "models.h"
#include "scarce.h"

#include "base/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if SANITIZED || !defined(__GLIBC__)
enum { COUNTS = 0 };
static _Atomic long calls;
#else
enum { COUNTS = 1 };
static _Atomic long calls;

/* The C library's own, under the names that it keeps for those who replace the others. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
    calls++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    calls++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
    calls++;
    return __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes) {
    calls++;
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
    *memory = memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}
#endif

static ch_recipe *small_recipe(const char *threads) {
    return recipe_of("d-model", "12", "heads", "3", "d-ff", "20", "layers", "2", "max-positions", "16", "batch-size",
                     "7", "threads", threads, NULL);
}

/* ---- a step ---- */

static void a_step_calls_malloc_zero_times(void **state) {
    (void)state;
    if (!COUNTS || strcmp(gemm_backend(), "reference") != 0) {
        print_message("skipped: needs a build with CH_GEMM=reference and no sanitizer; this one has %s\n",
                      gemm_backend());
        skip();
    }
    for (int way = 0; way < 8; way++) {
        ch_recipe *recipe = small_recipe(way & 4 ? "2" : "1");
        set_option(recipe, "attention", way & 1 ? "explicit" : "fused");
        set_option(recipe, "rng", way & 2 ? "torch" : "philox");
        set_option(recipe, "log-gradients", way & 2 ? "on" : "off");
        ch_trainer *trainer = trainer_of(recipe, NULL);
        ch_step step;
        ch_error error;
        check_ok(ch_trainer_step(trainer, &step, &error), &error);
        long before = calls;
        for (int i = 0; i < 10; i++) ch_trainer_step(trainer, &step, &error);
        long after = calls;
        assert_int_equal(step.step, 11);
        assert_int_equal(after - before, 0);
        ch_trainer_free(trainer);
        ch_recipe_free(recipe);
    }
}

/* The counter counts: building a trainer calls malloc at least as often as our own code says it does. */
static void the_counter_counts(void **state) {
    (void)state;
    if (!COUNTS) skip();
    ch_recipe *recipe = small_recipe("1");
    long before = calls;
    uint64_t ours = mem_allocations();
    ch_trainer_free(trainer_of(recipe, NULL));
    assert_true(mem_allocations() - ours > 50);
    assert_true(calls - before >= (long)(mem_allocations() - ours));
    ch_recipe_free(recipe);
}

/* ---- memory that runs out ---- */

/* A dump, compared with itself, and the stage checks that train nothing. */
static ch_status see_through(const ch_model *model, const ch_recipe *recipe, ch_sequence source, ch_error *error) {
    static const char *const stage[] = {"data", "shapes", "initial-loss", "masking"};
    static const ch_dump_options options = {.backward = true};
    ch_tensors *tensors = NULL;
    ch_comparison *rows = NULL;
    ch_check_result result;
    size_t count;
    ch_status status = ch_dump(model, source, source, &options, &tensors, error);
    if (status == CH_OK) status = ch_compare(tensors, tensors, 0, &rows, &count, error);
    for (size_t i = 0; i < 4 && status == CH_OK; i++)
        status = ch_check_run(recipe, i % 2 ? model : NULL, stage[i], NULL, &result, error);
    ch_comparison_free(rows);
    ch_tensors_free(tensors);
    return status;
}

/* All that a program does in memory: train a step, evaluate, decode, look, see through it. */
static ch_status use_everything(void *context, ch_error *error) {
    (void)context;
    static const int token[] = {3, 1, 4};
    ch_recipe *recipe = NULL;
    ch_trainer *trainer = NULL;
    ch_attention *attention = NULL;
    ch_summary *summary = NULL;
    ch_evaluation result;
    ch_step step;
    char *text = NULL;
    ch_figure *figure = NULL;
    ch_status status = ch_recipe_new(&recipe, error);
    if (status == CH_OK) status = ch_recipe_set(recipe, "d-model", "4", error);
    if (status == CH_OK) status = ch_recipe_set(recipe, "layers", "1", error);
    if (status == CH_OK) status = ch_recipe_set(recipe, "threads", "1", error);
    if (status == CH_OK) status = ch_trainer_new(recipe, NULL, &trainer, error);
    if (status == CH_OK) status = ch_trainer_step(trainer, &step, error);
    if (status == CH_OK) status = ch_evaluate(ch_trainer_model(trainer), recipe, 3, &result, error);
    if (status == CH_OK) status = ch_look(ch_trainer_model(trainer), (ch_sequence){token, 3}, 4, &attention, error);
    if (status == CH_OK) status = see_through(ch_trainer_model(trainer), recipe, (ch_sequence){token, 3}, error);
    if (status == CH_OK) status = ch_figure_attention(attention, -1, -1, &figure, error);
    if (status == CH_OK) status = ch_figure_text(figure, CH_COLOURS_NONE, 0, &text, error);
    if (status == CH_OK) status = ch_summary_new(recipe, &summary, error);
    ch_string_free(text);
    ch_summary_free(summary);
    ch_figure_free(figure);
    ch_attention_free(attention);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    return status;
}

static void memory_that_runs_out_is_said(void **state) {
    (void)state;
    assert_true(scarce_run("a program in memory", 1, use_everything, NULL, NULL) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_calls_malloc_zero_times),
        cmocka_unit_test(the_counter_counts),
        cmocka_unit_test(memory_that_runs_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

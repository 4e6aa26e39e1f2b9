/* check: the stages at which a transformer can be verified, one line each; the report is made to be pasted. */
#include "command.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "terminal.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_STAGES = 32 };

/* One report at work. */
struct job {
    const ch_recipe *recipe;
    const ch_model *model;     /* NULL: fresh weights */
    const char *path;          /* of the model */
    bool json, verbose, begun; /* begun: the heading is out */
    bool task_known;           /* a model that does not say its task may do without for some stages */
    ch_colours colours;
    const char *stage[MOST_STAGES];
    size_t stages, passed;
    const char *current; /* the stage at work */
    json_t *lines;       /* what it has said */
    struct progress progress;
};

/* ---- while a stage is at work -------------------------------------------------------------------- */

static void keep_line(const char *line, bool detail, void *context) {
    struct job *job = context;
    if (!detail || job->verbose) json_array_append_new(job->lines, json_words(line));
}

static void draw_step(struct job *job, const ch_step *step) {
    char loss[WORDS];
    words_number(step->loss, 4, loss);
    progress_draw(&job->progress, "%s: step %" PRId64 " of %" PRId64 "  loss %s", job->current, step->step, step->steps,
                  loss);
}

static bool each_step(const ch_step *step, void *context) {
    struct job *job = context;
    if (progress_due(&job->progress)) draw_step(job, step);
    return true;
}

/* ---- the heading: who reads it elsewhere needs no other question ---------------------------------- */

/* The sizes of the model, or of one by the recipe. */
static int sizes_of(const struct job *job, ch_model_info *info) {
    ch_model *fresh = NULL;
    ch_error error;
    if (!job->model && ch_model_new(job->recipe, &fresh, &error)) return report(NULL, &error);
    *info = ch_model_get_info(job->model ? job->model : fresh);
    info->task = ""; /* the text belongs to the model */
    ch_model_free(fresh);
    return EXIT_DONE;
}

static const char *option(const struct job *job, const char *name) {
    return ch_recipe_get(job->recipe, name);
}

static int threads_of(const struct job *job, const ch_build *build) {
    int threads;
    bool given = sscanf(option(job, "threads"), "%d", &threads) == 1 && threads > 0;
    return given ? threads : build->threads;
}

static void put_heading(const struct job *job, const ch_model_info *info) {
    ch_build build = ch_build_info();
    char parameters[WORDS];
    words_count(info->parameters, parameters);
    int threads = threads_of(job, &build);
    out("clearhead %s, %s, %s (D %d, H %d, F %d, L %d, V %d, dropout %g, %s parameters), seed %s, %s, %s attention, "
        "%s %s, %d thread%s\n",
        build.version,
        *option(job, "text") ? "text"
        : job->task_known    ? option(job, "task")
                             : "task unknown",
        job->model ? words_shown(job->path).text : "fresh weights", info->d_model, info->heads, info->d_ff,
        info->layers, info->vocab_size, info->dropout, parameters, option(job, "seed"), option(job, "rng"),
        option(job, "attention"), build.gemm, build.real, threads, words_plural((uint64_t)threads));
}

/* The options that are not as they are when nobody says anything. */
static void put_options(const struct job *job) {
    const ch_option *row;
    bool any = false;
    for (size_t i = 0; (row = ch_recipe_option(i)); i++) {
        const char *value = option(job, row->name);
        if (strcmp(value, row->default_value) == 0) continue;
        out("%s --%s%s%s", any ? "" : "options:", row->name, row->value ? " " : "",
            row->value ? words_shown(value).text : "");
        any = true;
    }
    if (any) out("\n");
}

/* ---- a stage --------------------------------------------------------------------------------------- */

static int name_width(void) {
    int width = 0;
    const ch_variant *row;
    for (size_t i = 0; (row = ch_check_stage(i)); i++)
        if ((int)strlen(row->name) > width) width = (int)strlen(row->name);
    return width;
}

/* With the first result, since an error of usage shows no later than that: nothing stands before its sentence. */
static bool begin(struct job *job) {
    ch_model_info info;
    if (job->begun) return true;
    job->begun = true;
    if (sizes_of(job, &info)) return false;
    put_heading(job, &info);
    put_options(job);
    return out_flush();
}

static bool put_result(const struct job *job, const ch_check_result *result) {
    bool colours = job->colours != CH_COLOURS_NONE;
    const char *colour = !colours ? "" : result->passed ? "\033[32m" : "\033[31m";
    out("%s%s%s  %-*s  %s\n", colour, result->passed ? "PASS" : "FAIL", colours ? "\033[0m" : "", name_width(),
        job->current, result->figure);
    for (size_t i = 0; i < json_array_size(job->lines); i++)
        out("      %s\n", json_string_value(json_array_get(job->lines, i)));
    return out_flush();
}

static json_t *result_object(const struct job *job, const ch_check_result *result) {
    return json_pack("{s:s, s:b, s:o, s:O}", "stage", job->current, "passed", (int)result->passed, "figure",
                     json_words(result->figure), "lines", job->lines);
}

/* With json, appends the result to it; else prints it. */
static int run_stage(struct job *job, const char *name, json_t *results) {
    ch_check_watch watch = {keep_line, each_step, job};
    ch_check_result result;
    ch_error error;
    job->current = name;
    job->lines = json_array();
    if (!job->lines) return report_memory();
    ch_status status = ch_check_run(job->recipe, job->model, name, &watch, &result, &error);
    progress_erase(&job->progress);
    int code = EXIT_DONE;
    if (status)
        code = report(name, &error);
    else if (job->json)
        json_array_append_new(results, result_object(job, &result));
    else if (!begin(job) || !put_result(job, &result))
        code = EXIT_FAILED;
    if (!status) job->passed += result.passed;
    json_decref(job->lines);
    return code;
}

/* ---- all of them ----------------------------------------------------------------------------------- */

static int put_text(struct job *job) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < job->stages && !code; i++) code = run_stage(job, job->stage[i], NULL);
    if (!code && !out("%zu of %zu stages passed\n", job->passed, job->stages)) code = EXIT_FAILED;
    return code;
}

static json_t *recipe_object(const struct job *job) {
    char *text = ch_recipe_json(job->recipe);
    json_t *object = text ? json_loads(text, 0, NULL) : NULL;
    ch_string_free(text);
    return object;
}

static int put_json(struct job *job) {
    ch_build build = ch_build_info();
    json_t *results = json_array();
    int code = EXIT_DONE;
    for (size_t i = 0; i < job->stages && !code; i++) code = run_stage(job, job->stage[i], results);
    if (code) {
        json_decref(results);
        return code;
    }
    json_t *object = json_pack("{s:s, s:o, s:o, s:s, s:s, s:i, s:o, s:b}", "version", build.version, "model",
                               job->model ? json_words(job->path) : json_null(), "recipe", recipe_object(job), "gemm",
                               build.gemm, "real", build.real, "threads", threads_of(job, &build), "stages", results,
                               "passed", (int)(job->passed == job->stages));
    return out_json(object) ? EXIT_DONE : EXIT_FAILED;
}

static int check(struct job *job) {
    int code = job->json ? put_json(job) : put_text(job);
    if (!code && !out_flush()) code = EXIT_FAILED;
    return code ? code : job->passed == job->stages ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the command ----------------------------------------------------------------------------------- */

static int unknown_stage(const char *name) {
    const char *names[MOST_STAGES];
    char list[256] = "", near[64] = "";
    size_t count = 0, used = 0;
    for (const ch_variant *row; count < MOST_STAGES && (row = ch_check_stage(count)); count++) {
        names[count] = row->name;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "", row->name);
    }
    int nearest = words_nearest(name, names, count);
    if (nearest >= 0) snprintf(near, sizeof near, "did you mean '%s'? ", names[nearest]);
    return complain(EXIT_USAGE, "unknown stage '%s'; %sthe stages are %s", name, near, list);
}

static void add_stage(struct job *job, const char *name) {
    for (size_t i = 0; i < job->stages; i++)
        if (job->stage[i] == name) return;
    job->stage[job->stages++] = name;
}

/* Those that are named, each once, or all. */
static int choose_stages(const struct arguments *arguments, struct job *job) {
    const ch_variant *row;
    for (size_t w = 0; w < arguments->word_count; w++) {
        size_t i = 0;
        while ((row = ch_check_stage(i)) && strcmp(row->name, arguments->words[w]) != 0) i++;
        if (!row) return unknown_stage(arguments->words[w]);
        add_stage(job, row->name);
    }
    for (size_t i = 0; arguments->word_count == 0 && (row = ch_check_stage(i)); i++) add_stage(job, row->name);
    return EXIT_DONE;
}

static bool needs_task(const struct job *job) {
    for (size_t i = 0; i < job->stages; i++)
        if (ch_check_needs_task(job->stage[i])) return true;
    return false;
}

/* The model of --model, whose sizes and task are its own. */
static int open_model(const struct arguments *arguments, ch_recipe *recipe, struct job *job, ch_model **model) {
    job->path = arguments_value(arguments, "model");
    if (!job->path) return EXIT_DONE;
    int code = model_refuse_parts(arguments, job->path);
    if (!code) code = model_open_path(arguments, job->path, model);
    if (code) return code;
    code = model_recipe(arguments, job->path, *model, recipe);
    if (code) return code;
    job->model = *model;
    job->task_known = arguments_has(arguments, "task") || *ch_model_get_info(*model).task;
    return job->task_known || needs_task(job) ? model_task(arguments, job->path, *model, recipe) : EXIT_DONE;
}

static int run(const struct arguments *arguments) {
    const char *colour = arguments_value(arguments, "colour");
    struct job job = {
        .json = arguments_has(arguments, "json"), .verbose = arguments_has(arguments, "verbose"), .task_known = true};
    ch_recipe *recipe;
    ch_model *model = NULL;
    ch_error error;
    if (!terminal_colours(colour, &job.colours))
        return complain(EXIT_USAGE, "--colour takes auto, always or never, not '%s'", colour);
    int code = choose_stages(arguments, &job);
    if (code) return code;
    if (arguments_recipe(arguments, &recipe, &error)) return report(NULL, &error);
    job.recipe = recipe;
    job.progress = progress_start(!job.json);
    code = open_model(arguments, recipe, &job, &model);
    if (!code) code = check(&job);
    ch_model_free(model);
    ch_recipe_free(recipe);
    return code;
}

static const ch_option options[] = {
    {"model", "MODEL", NULL, "a run folder, a checkpoint folder or a .safetensors file; else fresh weights", NULL},
    {"recipe", "FILE", NULL, "a JSON file of the options below; the command line wins over it", NULL},
    {"verbose", NULL, NULL, "every intermediate with shape, mean and deviation, every token of the masking test", NULL},
    {"colour", "{auto,always,never}", "auto", "colours; auto: on a terminal, unless NO_COLOR is set", NULL},
    {0},
};

const struct command command_check = {
    .name = "check",
    .usage = "[STAGE...] [--model MODEL] [options]",
    .help = "verify a recipe or a model stage by stage: the figure, and PASS or FAIL",
    .about = "The stages, in the order in which they are worth doing (all of them unless some are named):\n"
             "  data            five examples to read; answers, special tokens and padding by rule\n"
             "  shapes          one pass over two sequences: every intermediate has the shape that the sizes predict\n"
             "  initial-loss    the loss of fresh weights is what ln V and the initialisation predict\n"
             "  masking         no logit moves when a later token changes: nothing of the future leaks\n"
             "  overfit         eight sequences are learned by heart in 400 steps, without dropout\n"
             "  generalisation  500 fresh sequences are answered, and cross-attention shows the task's alignment\n"
             "With --text FILE examples are windows or lines of it, and generalisation is a loss on what is held out "
             "that is\n"
             "below that of the tokens' frequencies.\n"
             "Without --model, generalisation trains one first, by the options. A model that does not say what it was\n"
             "trained on needs --task for data, initial-loss and generalisation. Exit code 1: a stage failed.\n",
    .example = "clearhead check\nclearhead check masking overfit --layers 4 --d-model 128\n"
               "clearhead check --model runs/reverse",
    .positional = "STAGE",
    .most_positionals = MOST_STAGES,
    .options = options,
    .recipe = every_option,
    .run = run,
};

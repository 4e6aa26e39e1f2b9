/* train: a run from its recipe to its model; stops cleanly at a signal, and goes on with --resume. */
#include "command.h"
#include "options.h"
#include "output.h"
#include "profile.h"
#include "terminal.h"
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A handler has nowhere else to leave its word. */
static volatile sig_atomic_t stop_signal;

static void ask_to_stop(int number) {
    stop_signal = number;
    signal(SIGINT, SIG_DFL); /* a second one kills */
    signal(SIGTERM, SIG_DFL);
}

/* Products of oneDNN for AVX-512 keep numbers further below the stack pointer than the system allows, just where a
 * handler would be put: it gets a stack of its own, unless there is one. */
static void set_stack_aside(void) {
    static char room[1 << 16];
    stack_t old, stack = {.ss_sp = room, .ss_size = sizeof room};
    if (sigaltstack(NULL, &old) == 0 && old.ss_flags & SS_DISABLE) sigaltstack(&stack, NULL);
}

/* A signal that the caller chose to ignore (nohup, a script's background job) stays ignored. */
static void watch(int number) {
    struct sigaction old, action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART | SA_ONSTACK};
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(number, &action, NULL);
}

struct run {
    const char *folder;
    bool json, quiet, profile;
    bool text;   /* learns from one */
    bool broken; /* standard output failed */
    struct progress progress;
    double started;
    int64_t first; /* the first step that this process took */
    ch_step last;
    struct profile_times times;
};

/* ---- each step -------------------------------------------------------------------------------- */

static const char *band_word(const ch_step *step) {
    if (!step->band) return NULL;
    if (step->validation_loss > step->band->high) return "above";
    return step->validation_loss < step->band->low ? "below" : "inside";
}

/* A run that leaves its recipe's band goes on: the person decides. */
static void say_band(const ch_step *step) {
    const ch_band *band = step->band;
    const char *word = band_word(step);
    if (!band || strcmp(word, "inside") == 0) return;
    say("step %" PRId64 ": the validation loss %.6g is %s the recipe's band, %g to %g: %s", step->step,
        step->validation_loss, word, band->low, band->high,
        strcmp(word, "above") == 0 ? "this run learns too slowly or not at all"
                                   : "better than any healthy run; check that held-out text is not in training");
}

/* Of a text: what validation found, if there was one. */
static bool put_validation(const ch_step *step) {
    if (isnan(step->validation_loss)) return true;
    if (!out("  val_loss %.4f", step->validation_loss)) return false;
    return isnan(step->bits_per_character) || out("  bits_per_character %.4f", step->bits_per_character);
}

static bool put_step(const ch_step *step, bool json, bool text) {
    if (json)
        return out_json(json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o}", "step", (json_int_t)step->step,
                                  "steps", (json_int_t)step->steps, "loss", json_number(step->loss), "grad_norm",
                                  json_number(step->grad_norm), "lr", json_number(step->lr), "next_lr",
                                  json_number(step->next_lr), "validation_loss", json_number(step->validation_loss),
                                  "bits_per_character", json_number(step->bits_per_character), "band", band_word(step),
                                  "seconds", json_number(step->seconds)));
    return out("step %5" PRId64 "  loss %.4f  grad_norm %.2f  lr %.2e", step->step, words_plain(step->loss),
               words_plain(step->grad_norm), step->next_lr) &&
           (!text || put_validation(step)) && out("\n");
}

static void draw_progress(struct run *run, const ch_step *step) {
    double taken = terminal_clock() - run->started, done = (double)(step->step - run->first + 1);
    char left[WORDS];
    words_time(taken / done * (double)(step->steps - step->step), left);
    progress_draw(&run->progress, "step %" PRId64 " of %" PRId64 "  %3.0f %%  loss %.4f  %s left", step->step,
                  step->steps, 100.0 * (double)step->step / (double)step->steps, words_plain(step->loss), left);
}

static bool each_step(const ch_step *step, void *context) {
    struct run *run = context;
    if (!run->first) run->first = step->step;
    run->last = *step;
    run->times.steps++;
    run->times.seconds += step->seconds;
    bool shown = run->json ? step->log || step->band : step->log && !run->quiet;
    if (shown || step->band) progress_erase(&run->progress);
    if (shown && (!put_step(step, run->json, run->text) || !out_flush())) run->broken = true;
    if (!run->quiet) say_band(step);
    if (progress_due(&run->progress)) draw_progress(run, step);
    return !stop_signal && !run->broken;
}

/* ---- before and after ------------------------------------------------------------------------- */

static void say_start(const struct run *run, const ch_trainer *trainer, bool resumed) {
    const ch_recipe *recipe = ch_trainer_recipe(trainer);
    char parameters[WORDS];
    words_count(ch_model_get_info(ch_trainer_model(trainer)).parameters, parameters);
    const char *steps = ch_recipe_get(recipe, "steps"), *examples = ch_recipe_get(recipe, "batch-size");
    const char *text = ch_recipe_get(recipe, "text"), *what = *text ? text : ch_recipe_get(recipe, "task");
    say("%s %s: %s parameters, %s step%s of %s example%s, in %s", resumed ? "going on with" : "training", what,
        parameters, steps, words_plural(strtoull(steps, NULL, 10)), examples,
        words_plural(strtoull(examples, NULL, 10)), run->folder);
}

/* A log that is lost does not stop a run, but is not passed over in silence either: it is made with its first line. */
static void say_missing(const struct run *run, const ch_trainer *trainer) {
    bool gradients = strcmp(ch_recipe_get(ch_trainer_recipe(trainer), "log-gradients"), "on") == 0;
    const char *const name[] = {"log.jsonl", gradients ? "gradients.jsonl" : NULL};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[4096];
        if (!name[i] || snprintf(path, sizeof path, "%s/%s", run->folder, name[i]) >= (int)sizeof path) continue;
        if (access(path, F_OK) != 0 && errno == ENOENT)
            say("%s is missing: training goes on from its checkpoint, and a new log begins there", path);
    }
}

static void say_unbanded(const ch_trainer *trainer) {
    const char *option = ch_recipe_unbanded(ch_trainer_recipe(trainer));
    if (option)
        say("the recipe's bands of validation loss are left out: they were measured with another value of %s", option);
}

static bool put_result(const struct run *run, const ch_trainer *trainer, bool stopped, double seconds) {
    const ch_step *last = &run->last;
    json_t *result =
        json_pack("{s:s, s:I, s:I, s:o, s:I, s:o, s:o}", "result", stopped ? "stopped" : "trained", "step",
                  (json_int_t)last->step, "steps", (json_int_t)last->steps, "loss", json_number(last->loss),
                  "parameters", (json_int_t)ch_model_get_info(ch_trainer_model(trainer)).parameters, "folder",
                  json_words(run->folder), "seconds", json_number(seconds));
    if (run->profile && json_object_set_new(result, "profile", profile_json(trainer, &run->times)) != 0) {
        json_decref(result); /* memory ran out */
        result = NULL;
    }
    return out_json(result) && out_flush();
}

/* What was asked for at the end: the result as JSON, or the profile as a table. */
static bool put_end(struct run *run, const ch_trainer *trainer, bool stopped, double seconds) {
    run->times.whole = seconds;
    if (run->json) return put_result(run, trainer, stopped, seconds);
    if (run->profile && !run->quiet && run->first) return profile_put(trainer, &run->times) && out_flush();
    return true;
}

/* A run that had come to its end before: there was no step, and so no loss. */
static void note_nothing_left(struct run *run, const ch_trainer *trainer) {
    const char *steps = ch_recipe_get(ch_trainer_recipe(trainer), "steps");
    run->last.step = run->last.steps = strtoll(steps, NULL, 10);
    run->last.loss = (double)NAN;
    bool settled = strcmp(ch_recipe_get(ch_trainer_recipe(trainer), "schedule"), "cosine") == 0;
    const char *more = settled ? "" : "; --steps N takes more";
    if (!run->quiet && run->last.steps == 1) say("nothing is left to do: the one step was taken%s", more);
    if (!run->quiet && run->last.steps != 1) say("nothing is left to do: all %s steps were taken%s", steps, more);
}

static int finish(struct run *run, const ch_trainer *trainer, bool stopped) {
    double seconds = terminal_clock() - run->started;
    char time[WORDS];
    words_time(seconds, time);
    if (!run->first) note_nothing_left(run, trainer);
    if (!run->broken && !put_end(run, trainer, stopped, seconds)) run->broken = true;
    if (stopped && !run->quiet)
        say("stopped after step %" PRId64 " of %" PRId64 "; a checkpoint is written, and this goes on from it: "
            "clearhead train --resume %s",
            run->last.step, run->last.steps, run->folder);
    else if (!run->quiet)
        say("the model is in %s/model.safetensors, after %s", run->folder, time);
    if (run->broken) return EXIT_FAILED;
    return stopped && stop_signal ? EXIT_SIGNAL + stop_signal : EXIT_DONE;
}

static int train(struct run *run, ch_trainer *trainer, bool verbose, bool resumed) {
    ch_error error;
    char *recipe = verbose ? ch_recipe_json(ch_trainer_recipe(trainer)) : NULL;
    if (recipe) fprintf(stderr, "%s\n", recipe);
    ch_string_free(recipe);
    if (resumed) say_missing(run, trainer);
    if (!run->quiet) say_start(run, trainer, resumed);
    run->text = *ch_recipe_get(ch_trainer_recipe(trainer), "text");
    if (!run->quiet) say_unbanded(trainer);
    run->progress = progress_start(!run->quiet);
    if (run->profile) ch_trainer_profile_start(trainer);
    run->started = terminal_clock();
    set_stack_aside();
    watch(SIGINT);
    watch(SIGTERM);
    ch_status status = ch_trainer_run(trainer, each_step, run, &error);
    progress_erase(&run->progress);
    if (status != CH_OK && status != CH_STOPPED) return report(NULL, &error);
    return finish(run, trainer, status == CH_STOPPED);
}

/* ---- a new run, or one to go on with ---------------------------------------------------------- */

/* The task may stand alone or behind --task, or come from the recipe file; not twice. */
static int set_task(const struct arguments *arguments, ch_recipe *recipe) {
    ch_error error;
    const char *task = arguments->positional;
    if (!task) return EXIT_DONE;
    if (arguments_has(arguments, "task"))
        return complain(EXIT_USAGE, "the task is given twice: '%s' and --task '%s'", task,
                        arguments_value(arguments, "task"));
    return ch_recipe_set(recipe, "task", task, &error) ? report(NULL, &error) : EXIT_DONE;
}

static int start_new(const struct arguments *arguments, const ch_recipe *recipe, ch_trainer **trainer) {
    ch_error error;
    const char *folder = arguments_value(arguments, "out");
    bool text = *ch_recipe_get(recipe, "text");
    if (arguments->positional && text)
        return complain(EXIT_USAGE, "a task ('%s') and a text ('%s') are given: expected one of them",
                        arguments->positional, ch_recipe_get(recipe, "text"));
    if (!arguments->positional && !text && !arguments_has(arguments, "task") && !arguments_has(arguments, "recipe"))
        return complain(EXIT_USAGE, "TASK is missing: clearhead train reverse --out runs/reverse "
                                    "(`clearhead list` has the tasks), or --text FILE");
    if (!folder) return complain(EXIT_USAGE, "--out is missing: the folder that the run shall be written to");
    return ch_trainer_new(recipe, folder, trainer, &error) ? report(NULL, &error) : EXIT_DONE;
}

static int go_on(const struct arguments *arguments, const ch_recipe *changes, ch_trainer **trainer) {
    static const char *const refused[] = {"out", "recipe"};
    const char *changed[MOST_OPTIONS];
    ch_error error;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (arguments_has(arguments, refused[i]))
            return complain(EXIT_USAGE,
                            "--resume and --%s exclude each other: a run goes on in its own folder, "
                            "by its own recipe",
                            refused[i]);
    if (arguments->positional)
        return complain(EXIT_USAGE, "--resume takes no TASK ('%s'): the run has its own", arguments->positional);
    size_t count = arguments_recipe_names(arguments, changed, MOST_OPTIONS);
    const char *folder = arguments_value(arguments, "resume");
    return ch_trainer_resume(folder, changes, changed, count, trainer, &error) ? report(NULL, &error) : EXIT_DONE;
}

static int run(const struct arguments *arguments) {
    const char *resumed = arguments_value(arguments, "resume");
    struct run run = {.folder = resumed ? resumed : arguments_value(arguments, "out"),
                      .json = arguments_has(arguments, "json"),
                      .quiet = arguments_has(arguments, "quiet"),
                      .profile = arguments_has(arguments, "profile")};
    ch_recipe *recipe;
    ch_trainer *trainer = NULL;
    ch_error error;
    if (arguments_recipe(arguments, &recipe, &error)) return report(NULL, &error);
    int code = resumed ? go_on(arguments, recipe, &trainer) : set_task(arguments, recipe);
    if (!code && !resumed) code = start_new(arguments, recipe, &trainer);
    if (!code) code = train(&run, trainer, arguments_has(arguments, "verbose"), resumed != NULL);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    return code;
}

static const ch_option options[] = {
    {"out", "DIR", NULL, "where the run goes: recipe, log, checkpoints, model.safetensors", NULL},
    {"resume", "DIR", NULL, "go on with a stopped run, as if it had never stopped", NULL},
    {"recipe", "FILE", NULL, "a JSON file of the options below; the command line wins over it", NULL},
    {"quiet", NULL, NULL, "write nothing but errors (and what --json writes)", NULL},
    {"profile", NULL, NULL, "show at the end where the time of a step went, operation by operation", NULL},
    {"verbose", NULL, NULL, "show every option as it was resolved", NULL},
    {0},
};

const struct command command_train = {
    .name = "train",
    .usage = "TASK --out DIR [options], or with --text FILE for TASK, or: clearhead train --resume DIR [options]",
    .help = "train a model on a task or on a text",
    .about = "TASK may also come from the recipe file; `clearhead list` has the tasks. Options win over the\n"
             "recipe file, that over a preset, and that over the defaults. Ctrl-C or SIGTERM stops after the\n"
             "current step and writes a checkpoint (exit code 130 or 143); a second one kills. With --resume,\n"
             "only --threads, --log-every, --save-every and, unless the schedule is cosine, --steps may change.\n"
             "A recipe file may also hold \"bands\": [{\"step\": 250, \"low\": 2.4, \"high\": 2.6}, ...], where the\n"
             "validation loss of a healthy run lies; a run that leaves one is told so, and goes on.\n",
    .example = "clearhead train reverse --out runs/reverse\nclearhead train --resume runs/reverse\n"
               "clearhead train --text book.txt --arch decoder-only --out runs/book",
    .positional = "TASK",
    .options = options,
    .recipe = every_option,
    .run = run,
};

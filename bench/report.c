/* A line for a person, or a line of JSON. */
#include "bench.h"
#include "base/json.h"
#include "base/memory.h"

static bool put_json(FILE *json, struct js_value *object, bool complete) {
    char *text = complete ? js_dump(object, 0) : NULL;
    js_free(object);
    if (!text) {
        fprintf(stderr, "clearhead-bench: out of memory\n");
        return false;
    }
    bool written = fprintf(json, "%s\n", text) >= 0 && fflush(json) == 0;
    mem_free(text);
    return written;
}

static bool machine_json(FILE *json, const struct machine *m, const ch_build *build) {
    struct js_value *o = js_new_object();
    bool complete = o && js_set(o, "processor", js_new_text(m->processor)) &&
                    js_set(o, "threads", js_new_int(m->threads)) && js_set(o, "version", js_new_text(build->version)) &&
                    js_set(o, "gemm", js_new_text(build->gemm)) && js_set(o, "real", js_new_text(build->real)) &&
                    js_set(o, "compiler", js_new_text(__VERSION__)) && js_set(o, "load", js_new_double(m->load)) &&
                    js_set(o, "gemm_flop_per_second_one_thread", js_new_double(m->gemm_one)) &&
                    js_set(o, "gemm_flop_per_second_all_threads", js_new_double(m->gemm_all)) &&
                    js_set(o, "copy_bytes_per_second", js_new_double(m->copy));
    return put_json(json, o, complete);
}

bool report_machine(const struct machine *m, FILE *json) {
    ch_build build = ch_build_info();
    if (json) return machine_json(json, m, &build);
    return printf("clearhead %s, %s %s, compiler %s, on %s (load %.1f)\n"
                  "limits: %.1f GFLOP/s on one thread, %.1f on %d; copying in memory %.1f GB/s\n\n"
                  "%-44s %11s %8s %15s %8s %8s\n",
                  build.version, build.gemm, build.real, __VERSION__, m->processor, m->load, m->gemm_one / 1e9,
                  m->gemm_all / 1e9, m->threads, m->copy / 1e9, "case", "median", "spread", "rate", "of limit",
                  "of plain") >= 0 &&
           fflush(stdout) == 0;
}

static bool case_json(FILE *json, const char *name, const struct kind *kind, const struct timing *t, double limit) {
    struct js_value *o = js_new_object();
    bool complete = o && js_set(o, "case", js_new_text(name)) && js_set(o, "median", js_new_double(t->median)) &&
                    js_set(o, "first_quartile", js_new_double(t->first_quartile)) &&
                    js_set(o, "third_quartile", js_new_double(t->third_quartile)) &&
                    js_set(o, "least", js_new_double(t->least)) && js_set(o, "samples", js_new_int(t->samples)) &&
                    js_set(o, "repeats", js_new_int(t->repeats)) &&
                    js_set(o, "clock", js_new_text(kind->threaded ? "wall" : "processor")) &&
                    js_set(o, "flop", js_new_double(t->work.flop)) &&
                    js_set(o, "bytes", js_new_double(t->work.bytes)) && js_set(o, "rate", js_new_double(t->rate)) &&
                    js_set(o, "limit", js_new_double(limit)) && js_set(o, "share", js_new_double(t->rate / limit)) &&
                    (t->of_plain <= 0 || js_set(o, "of_plain", js_new_double(t->of_plain)));
    return put_json(json, o, complete);
}

/* Three digits that count. */
static void in_words(double seconds, char *text, size_t size) {
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    double value = seconds * 1e9;
    int u = 0;
    for (; u < 3 && value >= 999.5; u++) value /= 1000;
    snprintf(text, size, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit[u]);
}

bool report_case(const char *name, const struct kind *kind, const struct timing *t, double limit, FILE *json) {
    if (json) return case_json(json, name, kind, t, limit);
    char median[32], of_plain[32] = "";
    in_words(t->median, median, sizeof median);
    if (t->of_plain > 0) snprintf(of_plain, sizeof of_plain, " %6.2f x", t->of_plain);
    return printf("%-44s %11s %6.1f %% %8.2f %-7s %6.1f %%%s\n", name, median,
                  100 * (t->third_quartile - t->first_quartile) / t->median, t->rate / 1e9,
                  t->work.flop > 0 ? "GFLOP/s" : "GB/s", 100 * t->rate / limit, of_plain) >= 0 &&
           fflush(stdout) == 0;
}

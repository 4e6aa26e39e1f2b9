/*
 * What docs/lesson.md says on the side, measured: each claim with the figure that is said and the one that was found
 * here. Exit code 1 if one is off by more than its error allows. Times are shown, and never judged.
 */
#include <clearhead.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { D_HEAD = 16, KEYS = 10, PAIRS = 100000, WIDTH = 64, TOKENS = 10, DEEP = 24 };

static int off; /* claims that did not hold */

static void need(ch_status status, const ch_error *error) {
    if (status == CH_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

/* A claim that is judged: how far from what is said may the figure be? */
static void claim(const char *text, double said, double measured, double error) {
    bool holds = fabs(measured - said) <= error;
    printf("%-58s %10.7g %10.7g%s\n", text, said, measured, holds ? "" : "   does not hold");
    off += !holds;
}

/* A figure without a claim. */
static void found(const char *text, double measured) {
    printf("%-58s %10s %10.3g\n", text, "", measured);
}

/* Uniform numbers of mean 0 and variance 1. */
static float draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(sqrt(12.0) * ((double)(*state >> 40) / (1 << 24) - 0.5));
}

static void draw_all(float *x, size_t n, uint64_t *state) {
    for (size_t i = 0; i < n; i++) x[i] = draw(state);
}

static double root_mean_square(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum / (double)n);
}

static ch_model *fresh_model(const char *layers, const char *positions, const char *seed) {
    ch_error error;
    ch_recipe *recipe;
    ch_model *model;
    need(ch_recipe_new(&recipe, &error), &error);
    need(ch_recipe_set(recipe, "layers", layers, &error), &error);
    need(ch_recipe_set(recipe, "max-positions", positions, &error), &error);
    need(ch_recipe_set(recipe, "seed", seed, &error), &error);
    need(ch_model_new(recipe, &model, &error), &error);
    ch_recipe_free(recipe);
    return model;
}

static ch_tensor tensor(const ch_model *model, const char *name) {
    ch_tensor row;
    for (size_t i = 0; ch_model_tensor(model, i, &row); i++)
        if (strcmp(row.name, name) == 0) return row;
    fprintf(stderr, "the model has no tensor '%s'\n", name);
    exit(1);
}

/* ---- why scores are divided by sqrt(Dh) ---- */

/* q . k over 16 independent products of variance 1 has variance 16. The square of such a sum deviates by about 16
 * sqrt(2), so the mean of PAIRS squares by 0.07: four of those. */
static void dot_products(void) {
    uint64_t state = 1;
    double squares = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        double dot = 0;
        for (int d = 0; d < D_HEAD; d++) dot += (double)draw(&state) * (double)draw(&state);
        squares += dot * dot;
    }
    claim("variance of q.k, 16 components of variance 1", 16, squares / PAIRS, 0.3);
    claim("its deviation", 4, sqrt(squares / PAIRS), 0.04);
}

/* Two keys whose products with q are 12 apart, without the division if `times` undoes it: the first one's weight,
 * which the values carry to the output, and how it moves with the score. */
static void gap_of_12(float times, double *weight, double *slope) {
    const ch_attention_sizes sizes = {.batch = 1, .heads = 1, .queries = 1, .keys = 2, .d_head = D_HEAD};
    float q[D_HEAD] = {12 * times}, k[2 * D_HEAD] = {1}, v[2 * D_HEAD] = {1}, out[D_HEAD], dout[D_HEAD] = {1},
          dq[D_HEAD];
    ch_error error;
    need(ch_scaled_dot_product_attention(&sizes, q, k, v, NULL, out, NULL, &error), &error);
    need(ch_scaled_dot_product_attention_backward(&sizes, q, k, v, NULL, dout, dq, NULL, NULL, &error), &error);
    *weight = (double)out[0];
    *slope = (double)dq[0] * sqrt(D_HEAD); /* dq = slope k / sqrt(Dh) */
}

/* The largest weight of a random query over KEYS random keys, mean over as many queries as there are. */
static double largest_weight(float times) {
    enum { QUERIES = 1000 };
    const ch_attention_sizes sizes = {.batch = QUERIES, .heads = 1, .queries = 1, .keys = KEYS, .d_head = D_HEAD};
    static float q[QUERIES * D_HEAD], k[QUERIES * KEYS * D_HEAD], weights[QUERIES * KEYS];
    uint64_t state = 2;
    double sum = 0;
    ch_error error;
    draw_all(q, QUERIES * D_HEAD, &state);
    draw_all(k, QUERIES * KEYS * D_HEAD, &state);
    for (size_t i = 0; i < QUERIES * D_HEAD; i++) q[i] *= times;
    need(ch_scaled_dot_product_attention(&sizes, q, k, k, NULL, NULL, weights, &error), &error);
    for (size_t i = 0; i < QUERIES; i++) {
        float most = 0;
        for (size_t j = 0; j < KEYS; j++) most = fmaxf(most, weights[i * KEYS + j]);
        sum += (double)most;
    }
    return sum / QUERIES;
}

/* Floats close to 1 lie 6e-8 apart; exponential and division may each be off by one such step. */
static void scale(void) {
    double weight, slope;
    gap_of_12(sqrtf(D_HEAD), &weight, &slope);
    claim("softmax at a gap of 12: the weight", 0.9999939, weight, 1.2e-7);
    claim("   its gradient, a (1 - a)", 6.1442e-6, slope, 1.2e-7);
    gap_of_12(1, &weight, &slope);
    claim("with the division, a gap of 3: the weight", 0.953, weight, 5e-4);
    claim("   its gradient", 0.045, slope, 5e-4);
    found("largest of 10 weights, random q and k, without division", largest_weight(sqrtf(D_HEAD)));
    found("   with it", largest_weight(1));
}

/* ---- why embeddings are multiplied by sqrt(D) ---- */

static double size_of(const ch_model *model, const char *name) {
    ch_tensor row = tensor(model, name);
    double sum = 0, count = 1;
    for (int i = 0; i < row.rank; i++) count *= (double)row.shape[i];
    for (size_t i = 0; i < (size_t)count; i++) sum += (double)row.value[i] * (double)row.value[i];
    return sqrt(sum / count);
}

/* 13 x 64 uniform numbers: their root mean square deviates by 0.16 x sqrt(0.8 / 832) / 2 = 0.0025. A pair of sine and
 * cosine has the squares 1 together, so positions have exactly sqrt(1/2). */
static void embeddings(void) {
    ch_model *model = fresh_model("2", "64", "0");
    double embedding = size_of(model, "src_emb.weight"), position = size_of(model, "pos.pe");
    claim("embeddings, root mean square", 0.161, embedding, 0.01);
    claim("positions, root mean square", 0.7071, position, 1e-4);
    claim("positions against embeddings", 4.4, position / embedding, 0.3);
    claim("embeddings times sqrt(64)", 1.29, 8 * embedding, 0.08);
    ch_model_free(model);
}

/* ---- what depth does to a gradient ---- */

static const float *weight_of(const ch_model *model, int layer, const char *part) {
    char name[64];
    snprintf(name, sizeof name, "enc.%d.attn.%s", layer, part);
    return tensor(model, name).value;
}

static double norm_of(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* How much of x (TOKENS, WIDTH) tells its rows apart: the norm of what is left when their mean is taken off, as a share
 * of the whole. */
static double apart(const float *x) {
    double rest = 0;
    for (size_t c = 0; c < WIDTH; c++) {
        double mean = 0;
        for (size_t t = 0; t < TOKENS; t++) mean += (double)x[t * WIDTH + c] / TOKENS;
        for (size_t t = 0; t < TOKENS; t++) rest += pow((double)x[t * WIDTH + c] - mean, 2);
    }
    return sqrt(rest) / norm_of(x, TOKENS * WIDTH);
}

struct chain {
    double gradient; /* its norm at the input against that at the output */
    double apart;    /* at the output */
};

/* A chain of nothing but a fresh model's attentions: y = F(x), or with residuals, y = x + F(x). */
static struct chain chain(const ch_model *model, int layers, bool residual) {
    enum { N = TOKENS * WIDTH };
    const ch_attention_sizes sizes = {1, 4, TOKENS, TOKENS, WIDTH / 4};
    float x[DEEP + 1][N], d[N], dx[N];
    ch_attention_parameters w[DEEP];
    uint64_t state = 3;
    ch_error error;
    draw_all(x[0], N, &state);
    draw_all(d, N, &state);
    double start = norm_of(d, N);
    for (int l = 0; l < layers; l++) {
        w[l] = (ch_attention_parameters){.w_q = weight_of(model, l, "W_q.weight"),
                                         .w_k = weight_of(model, l, "W_k.weight"),
                                         .w_v = weight_of(model, l, "W_v.weight"),
                                         .w_o = weight_of(model, l, "W_o.weight")};
        need(ch_multi_head_attention(&sizes, &w[l], x[l], NULL, NULL, x[l + 1], NULL, &error), &error);
        for (size_t i = 0; residual && i < N; i++) x[l + 1][i] += x[l][i];
    }
    for (int l = layers - 1; l >= 0; l--) {
        need(ch_multi_head_attention_backward(&sizes, &w[l], x[l], NULL, NULL, d, dx, NULL, NULL, &error), &error);
        for (size_t i = 0; i < N; i++) d[i] = residual ? d[i] + dx[i] : dx[i];
    }
    return (struct chain){norm_of(d, N) / start, apart(x[layers])};
}

static double gradient_size(const ch_tensors *dump, int layer) {
    char name[64];
    ch_tensor row;
    snprintf(name, sizeof name, "grad.enc.%d.n1.out", layer);
    for (size_t i = 0; ch_tensors_get(dump, i, &row); i++) {
        if (strcmp(row.name, name) != 0) continue;
        double values[TOKENS * WIDTH];
        ch_tensors_values(dump, i, values);
        return root_mean_square(values, TOKENS * WIDTH);
    }
    fprintf(stderr, "the dump has no tensor '%s'\n", name);
    exit(1);
}

/* The whole model, residuals and norms as they are: the gradient in the encoder's first layer against its last. */
static double first_against_last(const ch_model *model, int layers) {
    const int token[TOKENS] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, answer[TOKENS] = {3, 5, 6, 2, 9, 5, 1, 4, 1, 3};
    const ch_dump_options options = {.backward = true};
    ch_tensors *dump;
    ch_error error;
    need(ch_dump(model, (ch_sequence){token, TOKENS}, (ch_sequence){answer, TOKENS}, &options, &dump, &error), &error);
    double ratio = gradient_size(dump, 0) / gradient_size(dump, layers - 1);
    ch_tensors_free(dump);
    return ratio;
}

static void depth(void) {
    ch_model *six = fresh_model("6", "64", "0"), *deep = fresh_model("24", "64", "0");
    claim("a factor of 0.9 a layer leaves, of a gradient: 6 layers", 0.53, pow(0.9, 6), 0.005);
    claim("   24 layers", 0.08, pow(0.9, 24), 0.005);
    printf(
        "\ndepth, fresh weights    gradient left by 1, 6, 24 layers   share that tells tokens apart after 1, 6, 24\n");
    for (int residual = 0; residual <= 1; residual++) {
        struct chain one = chain(six, 1, residual), a = chain(six, 6, residual), b = chain(deep, DEEP, residual);
        printf("%-22s %12.3g %9.3g %9.3g %15.2g %9.2g %9.2g\n", residual ? "with residuals" : "attentions alone",
               one.gradient, a.gradient, b.gradient, one.apart, a.apart, b.apart);
    }
    printf("%-22s %22.3g %9.3g\n", "whole model, encoder", first_against_last(six, 6), first_against_last(deep, DEEP));
    ch_model_free(six);
    ch_model_free(deep);
}

/* ---- what a cache saves ---- */

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum { SOURCES = 8, SOURCE = 5, LONGEST = 64, ROUNDS = 3 };

/* Milliseconds to generate at most `length` tokens for each of SOURCES sources, the quickest of ROUNDS; *generated
 * gets how many they were. */
static double decode(const ch_model *model, int length, bool no_cache, size_t *generated) {
    const ch_decode_options options = {.max_new = length, .threads = 1, .no_cache = no_cache};
    static const int token[SOURCE] = {3, 1, 4, 1, 5};
    ch_sequence source[SOURCES];
    ch_answer answer[SOURCES];
    ch_decoder *decoder;
    ch_error error;
    double quickest = HUGE_VAL;
    for (int i = 0; i < SOURCES; i++) source[i] = (ch_sequence){token, SOURCE};
    need(ch_decoder_new(model, &options, &decoder, &error), &error);
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds();
        need(ch_decoder_run(decoder, source, SOURCES, answer, &error), &error);
        quickest = fmin(quickest, seconds() - start);
    }
    *generated = answer[0].length;
    ch_decoder_free(decoder);
    return 1000 * quickest;
}

/* Fresh weights do not know when to end: a model whose answer goes on as long as it may. */
static ch_model *endless_model(void) {
    for (int seed = 0; seed < 100; seed++) {
        char text[8];
        size_t generated;
        snprintf(text, sizeof text, "%d", seed);
        ch_model *model = fresh_model("2", "80", text);
        decode(model, LONGEST, false, &generated);
        if (generated == LONGEST) return model;
        ch_model_free(model);
    }
    fprintf(stderr, "the answers of 100 fresh models all ended before %d tokens\n", LONGEST);
    exit(1);
}

static void cache(void) {
    ch_model *model = endless_model();
    printf("\ntokens   decoder rows with cache, without, ratio   ms with cache, without, ratio\n");
    for (int length = LONGEST / 8; length <= LONGEST; length *= 2) {
        size_t rows, all = (size_t)length * ((size_t)length + 1) / 2;
        double with = decode(model, length, false, &rows), without = decode(model, length, true, &rows);
        printf("%6zu %24zu %8zu %6.1f %21.2f %8.2f %6.1f\n", rows, rows, all, (double)all / (double)rows, with, without,
               without / with);
    }
    ch_model_free(model);
}

int main(void) {
    printf("%-58s %10s %10s\n", "claim", "said", "measured");
    dot_products();
    scale();
    embeddings();
    depth();
    cache();
    return off ? 1 : 0;
}

/* Opens a model and reads where each generated token looked: attention_map MODEL TOKEN... */
#include <clearhead.h>

#include <stdio.h>
#include <string.h>

static int failed(const ch_error *error) {
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

int main(int count, char **word) {
    ch_error error;
    ch_model *model;
    ch_attention *attention;
    int token[64];
    size_t length = 0, parsed;
    if (count < 3) return fprintf(stderr, "usage: attention_map MODEL TOKEN...\n"), 2;
    if (ch_model_open(word[1], 0, &model, &error)) return failed(&error);
    for (int i = 2; i < count && length < 64; i++, length += parsed)
        if (ch_vocab_parse(ch_model_vocab(model), word[i], token + length, 64 - length, &parsed, &error))
            return failed(&error);
    if (ch_look(model, (ch_sequence){token, length}, 0, &attention, &error)) return failed(&error);

    ch_sequence generated = ch_attention_generated(attention);
    int layer = ch_attention_layers(attention) - 1;
    const float *map = ch_attention_map(attention, layer, 0); /* (T, S) */
    for (size_t t = 0; t < generated.length; t++) {
        size_t most = 0;
        for (size_t s = 1; s < length; s++)
            if (map[t * length + s] > map[t * length + most]) most = s;
        printf("%-5s looked at source position %zu with weight %.2f\n",
               ch_vocab_text(ch_model_vocab(model), generated.tokens[t]), most, (double)map[t * length + most]);
    }
    ch_alignment alignment = ch_attention_alignment(attention, layer, 0);
    printf("%s: %.2f of the mass is on the anti-diagonal\n", alignment.verdict, alignment.anti_diagonal);
    ch_attention_free(attention);
    ch_model_free(model);
    return 0;
}

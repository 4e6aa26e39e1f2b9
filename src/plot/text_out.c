#include "plot/text_out.h"
#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static void append(struct text_out *out, const char *bytes, size_t length) {
    void *text = out->text;
    out->failed = out->failed || !mem_grow(&text, &out->capacity, out->used + length + 1, 1);
    out->text = text;
    if (out->failed) return;
    memcpy(out->text + out->used, bytes, length);
    out->used += length;
    out->text[out->used] = '\0';
}

void text_out_add(struct text_out *out, const char *text, int width) {
    append(out, text, strlen(text));
    out->column += width;
}

void text_out_pad(struct text_out *out, int column) {
    while (out->column < column) text_out_add(out, " ", 1);
}

void text_out_label(struct text_out *out, const char *text, int columns, enum label_set set) {
    struct label label = label_clean(text, columns, set);
    text_out_add(out, label.text, label.width);
}

enum label_set text_out_set(ch_colours colours) {
    return colours == CH_COLOURS_NONE ? LABEL_ASCII : LABEL_UTF8;
}

void text_out_newline(struct text_out *out) {
    append(out, "\n", 1);
    out->column = 0;
}

void text_out_words(struct text_out *out, const char *words, int columns) {
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " ");
        if (length > (size_t)columns) length = (size_t)columns;
        if (out->column > 0 && out->column + 1 + (int)length > columns) text_out_newline(out);
        if (out->column > 0) text_out_add(out, " ", 1);
        append(out, at, length);
        out->column += (int)length;
        at += length;
        at += strspn(at, " ");
    }
    text_out_newline(out);
}

ch_status text_out_finish(struct text_out *out, char **text, ch_error *error) {
    *text = NULL;
    if (out->failed) {
        mem_free(out->text);
        return fail_memory(error, "the text of a figure");
    }
    *text = out->text;
    return CH_OK;
}

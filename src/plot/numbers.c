#include "plot/numbers.h"
#include "plot/label.h"

struct js_value *numbers_finish(struct js_value *value, bool complete) {
    if (complete) return value;
    js_free(value);
    return NULL;
}

struct js_value *numbers_floats(const float *value, int count) {
    struct js_value *list = js_new_array();
    bool complete = list;
    for (int i = 0; i < count && complete; i++) complete = js_add(list, js_new_double((double)value[i]));
    return numbers_finish(list, complete);
}

struct js_value *numbers_doubles(const double *value, int count) {
    struct js_value *list = js_new_array();
    bool complete = list;
    for (int i = 0; i < count && complete; i++) complete = js_add(list, js_new_double(value[i]));
    return numbers_finish(list, complete);
}

struct js_value *numbers_text(const char *text) {
    return js_new_text(label_clean(text, LABEL_BYTES, LABEL_UTF8).text);
}

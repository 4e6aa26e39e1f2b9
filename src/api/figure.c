#include "api/figure.h"
#include "base/error.h"

ch_status figure_deliver(struct ch_figure *figure, ch_status status, ch_figure **out) {
    *out = status == CH_OK ? figure : NULL;
    if (status != CH_OK) ch_figure_free(figure);
    return status;
}

void ch_figure_free(ch_figure *figure) {
    if (figure) figure->release(figure);
}

ch_status ch_figure_save(const ch_figure *figure, const char *path, int width, ch_error *error) {
    ch_assert(figure && path);
    return page_save(&figure->page, path, width, error);
}

ch_status ch_figure_text(const ch_figure *figure, ch_colours colours, int columns, char **text, ch_error *error) {
    enum { DEFAULT_COLUMNS = 80 };
    ch_assert(figure && text);
    return page_text(&figure->page, colours, columns ? columns : DEFAULT_COLUMNS, text, error);
}

ch_status ch_figure_json(const ch_figure *figure, char **text, ch_error *error) {
    ch_assert(figure && text);
    return page_json(&figure->page, text, error);
}

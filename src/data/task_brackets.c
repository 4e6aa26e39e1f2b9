/*
 * Whether brackets are balanced: ( [ ] ) is, ( [ ) ] is not. Kind k of bracket opens with symbol 2 k and closes with
 * 2 k + 1.
 *
 * Balanced words are uniform among all of their length. Their shape is drawn from left to right, closing with the share
 * of closings among all ways to go on: with h brackets open and r symbols to come, h (h + r + 2) / (2 r (h + 1))
 * (Arnold and Sleep, "Uniform random generation of balanced parenthesis strings", ACM TOPLAS 2(1), 1980); kinds are
 * uniform.
 *
 * The others are hard: a balanced word with one or two symbols changed. One bracket gets another kind, or is turned
 * around, or two symbols change places, which leaves every symbol as often as it was.
 */
#include "data/task.h"

static bool opens(int symbol) {
    return symbol % 2 == 0;
}

static void draw_balanced(int *word, int length, int kinds, struct draws *draws, int *open) {
    int height = 0;
    for (int t = 0; t < length; t++) {
        double left = length - t, h = height;
        bool close = draws_unit(draws) * (2 * left * (h + 1)) < h * (h + left + 2);
        if (!close) open[height++] = 2 * draws_below(draws, kinds);
        word[t] = close ? open[--height] + 1 : open[height - 1];
    }
}

static bool is_balanced(const int *word, int length, int *open) {
    int height = 0;
    for (int t = 0; t < length; t++) {
        if (opens(word[t]))
            open[height++] = word[t];
        else if (height == 0 || open[--height] + 1 != word[t])
            return false;
    }
    return height == 0;
}

/* One that never matches its partner. */
static void change_kind(int *word, int length, int kinds, struct draws *draws) {
    int t = draws_below(draws, length), kind = word[t] / 2, other = draws_below(draws, kinds - 1);
    word[t] += 2 * ((other < kind ? other : other + 1) - kind);
}

/* Then openings and closings are not as many. */
static void turn_around(int *word, int length, struct draws *draws) {
    int t = draws_below(draws, length);
    word[t] ^= 1;
}

static void exchange(int *word, int a, int b) {
    int symbol = word[a];
    word[a] = word[b];
    word[b] = symbol;
}

/* Two places are tried until the word is not balanced any more; the first and the last make it begin with a closing. */
static void swap(int *word, int length, struct draws *draws, int *open) {
    enum { TRIES = 16 };
    for (int i = 0; i < TRIES; i++) {
        int a = draws_below(draws, length), b = draws_below(draws, length);
        exchange(word, a, b);
        if (!is_balanced(word, length, open)) return;
        exchange(word, a, b);
    }
    exchange(word, 0, length - 1);
}

static void spoil(int *word, int length, int kinds, struct draws *draws, int *open) {
    enum { SWAP, TURN, KIND };
    switch (draws_below(draws, kinds > 1 ? KIND + 1 : KIND)) {
    case SWAP:
        swap(word, length, draws, open);
        break;
    case TURN:
        turn_around(word, length, draws);
        break;
    default:
        change_kind(word, length, kinds, draws);
    }
}

static int draw(int *source, int length, int symbols, struct draws *draws, int *scratch) {
    int balanced = draws_below(draws, 2);
    draw_balanced(source, length, symbols / 2, draws, scratch);
    if (!balanced) spoil(source, length, symbols / 2, draws, scratch);
    return balanced;
}

static const char *const classes[] = {"not balanced", "balanced"};

const struct task task_brackets = {
    .variant = {"brackets", "brackets, balanced or not, a class: ( [ ] ) -> balanced"},
    .kind = TASK_TO_CLASS,
    .in_pairs = true,
    .draw = draw,
    .classes = sizeof classes / sizeof *classes,
    .class_name = classes,
    .symbol_names = "()[]{}<>aAbBcCdDeEfF", /* behind the four that have brackets: a opens, A closes */
};

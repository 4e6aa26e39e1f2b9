#include "base/parallel.h"

void parallel_for(int pieces, int threads, void (*work)(int, void *), void *context) {
    int team = threads < pieces ? threads : pieces;
    if (team <= 1) {
        for (int piece = 0; piece < pieces; piece++) work(piece, context);
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
    for (int piece = 0; piece < pieces; piece++) work(piece, context);
}

/* Threads, behind one function. The pieces of a job are numbered; which thread takes which piece never
 * shows in the result, because no piece reads what another writes. */
#ifndef CH_BASE_PARALLEL_H
#define CH_BASE_PARALLEL_H

/* Calls work(piece, context) for every piece 0..pieces-1, on at most `threads` threads, and waits. */
void parallel_for(int pieces, int threads, void (*work)(int piece, void *context), void *context);

/* OMP_NUM_THREADS if it is set, else the number of processors this process may use. */
int parallel_default_threads(void);

#endif

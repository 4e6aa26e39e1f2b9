/*
 * Threads, behind one function. The pieces of a job are numbered; which thread takes which piece never shows in the
 * result, because no piece reads what another writes.
 *
 * A team keeps its threads between jobs. One that waits first looks again and again for some microseconds, since the
 * next job of a training step comes at once, then sleeps, since on a busy machine somebody else needs the processor.
 */
#ifndef CH_BASE_PARALLEL_H
#define CH_BASE_PARALLEL_H

struct team;

/* A team of `threads`, the caller's among them; they start with the first job that needs them. NULL when memory runs
 * out. Free with team_free (NULL is fine). One caller at a time. */
struct team *team_new(int threads);
void team_free(struct team *team);

/* Calls work(piece, context) for every piece 0..pieces-1, and waits. Without a team (NULL), or where no thread can be
 * had, the caller does it all. */
void parallel_for(struct team *team, int pieces, void (*work)(int piece, void *context), void *context);

int team_threads(const struct team *team);

/* How many threads to use: what was asked for, or OMP_NUM_THREADS, or (0, and unset) all processors that this process
 * may use, and never more than those: further threads would only take turns. */
int parallel_threads(int asked);

#endif

/* The running mean of the weights over the last part of training, which makes the better model. */
#ifndef CH_OPTIM_AVERAGE_H
#define CH_OPTIM_AVERAGE_H

#include <stdint.h>

/* How far the mean moves towards the weights of step 1, 2, ...: 1 is all the way, 0 where it does not take them. It
 * spans about the last 1/part of the steps so far. */
double average_share(int64_t part, int64_t step);

#endif

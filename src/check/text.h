/* What stages make of a text, which has neither answers nor classes to look at. */
#ifndef CH_CHECK_TEXT_H
#define CH_CHECK_TEXT_H

#include "check/check.h"

/* Stage data: examples to read; each stands in the file, framed and hidden by rule. */
ch_status text_data(struct check *check, ch_error *error);

/* Stage generalisation: the loss on what is held out is below what the frequencies of tokens give. */
ch_status text_generalisation(struct check *check, const struct ch_model *model, ch_error *error);

#endif

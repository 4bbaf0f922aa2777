/* The configuration block's `count` means nothing here. */
#ifndef BODY_H
#define BODY_H

#define BODY_COUNT_MAX 50000u

#endif

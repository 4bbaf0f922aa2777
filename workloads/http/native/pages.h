/* What is answered to a request; no hardware. */
#ifndef PAGES_H
#define PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define REQUEST_MAX 1024u
#define ANSWER_MAX 384u

struct answer {
    uint32_t length;
    bool keep; /* the connection */
    bool end;  /* the PC has said that it is over */
    char text[ANSWER_MAX];
};

/* Whether the request has come to its empty line. */
bool request_is_whole(const char *request, uint32_t length);

/* `dynamic` counts the pages of that kind; `read` gives what one of them shows. */
void pages_answer(const char *request, uint32_t length, uint32_t *dynamic, uint32_t (*read)(void),
                  struct answer *answer);

#endif

#include "pages.h"

#include "decimal.h"
#include "mem.h"

static const char page[] = "<!DOCTYPE html><html><head><title>portbench</title></head><body><h1>portbench</h1>"
                           "<p>A page of 137 bytes, as its model.</p></body></html>";
_Static_assert(sizeof page - 1 == 137, "the PC expects 137 bytes");
#define BODY_MAX 160u

struct text {
    char *to;
    uint32_t length;
};

static void put(struct text *text, const char *words) {
    while (*words) {
        text->to[text->length++] = *words++;
    }
}

static void put_number(struct text *text, uint32_t number) {
    text->length += decimal_format(number, text->to + text->length);
}

static bool begins(const char *text, uint32_t length, const char *word) {
    for (uint32_t i = 0; word[i]; i++) {
        if (i == length || text[i] != word[i]) {
            return false;
        }
    }
    return true;
}

static bool has(const char *text, uint32_t length, const char *word) {
    for (uint32_t i = 0; i < length; i++) {
        if (text[i] == word[0] && begins(text + i, length - i, word)) {
            return true;
        }
    }
    return false;
}

bool request_is_whole(const char *request, uint32_t length) {
    return length >= 4 && begins(request + length - 4, 4, "\r\n\r\n");
}

void pages_answer(const char *request, uint32_t length, uint32_t *dynamic, uint32_t (*read)(void),
                  struct answer *answer) {
    char content[BODY_MAX];
    struct text body = {.to = content};
    struct text said = {.to = answer->text};
    const char *status = "200 OK";
    answer->end = begins(request, length, "GET /end ");
    if (begins(request, length, "GET / ")) {
        put(&body, page);
    } else if (begins(request, length, "GET /dynamic ")) {
        put(&body, "<!DOCTYPE html><html><body><p>request ");
        put_number(&body, ++*dynamic);
        put(&body, "</p><p>ADC ");
        put_number(&body, read());
        put(&body, "</p></body></html>");
    } else if (!answer->end) {
        status = "404 Not Found";
    }
    /* Of HTTP/1.0 a client has to ask for it, as ApacheBench does. */
    answer->keep = has(request, length, "HTTP/1.1\r") ? !has(request, length, "Connection: close")
                                                      : has(request, length, "Connection: Keep-Alive");
    put(&said, "HTTP/1.1 ");
    put(&said, status);
    put(&said, "\r\nContent-Type: text/html\r\nContent-Length: ");
    put_number(&said, body.length);
    put(&said, answer->keep ? "\r\nConnection: keep-alive\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
    memcpy(said.to + said.length, content, body.length);
    answer->length = said.length + body.length;
}

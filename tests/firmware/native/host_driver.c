/* The firmware's hardware-free parts behind a line protocol on stdin and stdout, built for this machine with the address
   and undefined behaviour sanitizers. Buffers are allocated to the byte, so that reading past their end is found. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "body.h"
#include "config.h"
#include "decimal.h"
#include "dhcp_message.h"
#include "json.h"
#include "json_nested.h"
#include "pages.h"
#include "settings.h"

#define LINE_MAX_BYTES (1 << 20)

static size_t unhex(const char *text, uint8_t **out) {
    const size_t length = text ? strlen(text) / 2 : 0;
    *out = malloc(length ? length : 1);
    for (size_t i = 0; i < length; i++) {
        unsigned byte;
        sscanf(text + 2 * i, "%2x", &byte);
        (*out)[i] = (uint8_t)byte;
    }
    if (length == 0) {
        free(*out);
        *out = malloc(0);
    }
    return length;
}

static void print_hex(const void *data, size_t length) {
    for (size_t i = 0; i < length; i++) {
        printf("%02x", ((const uint8_t *)data)[i]);
    }
}

static const char *word(void) { return strtok(NULL, " "); }

static uint32_t number(void) { return (uint32_t)strtoul(word(), NULL, 0); }

static void decimal(void) {
    char *digits = malloc(DECIMAL_MAX);
    const uint32_t length = decimal_format(number(), digits);
    printf("%.*s\n", (int)length, digits);
    free(digits);
}

static void parse(void) {
    uint8_t *mac, *data;
    struct dhcp_reply reply;
    const uint32_t xid = number();
    unhex(word(), &mac);
    const size_t length = unhex(word(), &data);
    if (dhcp_parse(data, (uint32_t)length, xid, mac, &reply)) {
        printf("%u ", reply.type);
        print_hex(reply.address, 16);
        printf("\n");
    } else {
        printf("refused\n");
    }
    free(mac);
    free(data);
}

static void build(void) {
    uint8_t *mac, *address, *server;
    struct dhcp_reply offer = {0};
    const enum dhcp_type type = (enum dhcp_type)number();
    const uint32_t xid = number();
    unhex(word(), &mac);
    unhex(word(), &address);
    unhex(word(), &server);
    memcpy(offer.address, address, 4);
    memcpy(offer.server, server, 4);
    uint8_t *message = malloc(DHCP_REQUEST_LENGTH);
    dhcp_build(message, type, xid, mac, &offer);
    print_hex(message, DHCP_REQUEST_LENGTH);
    printf("\n");
    free(mac);
    free(address);
    free(server);
    free(message);
}

static void load(void) {
    uint8_t *stored;
    struct config config;
    unhex(word(), &stored);
    const bool valid = config_load(stored, &config);
    printf("%d ", valid);
    print_hex(&config, sizeof config);
    printf("\n");
    free(stored);
}

static bool write_stdout(void *context, const char *data, uint32_t length) {
    uint32_t *budget = context;
    if (length > *budget) {
        return false;
    }
    *budget -= length;
    return fwrite(data, 1, length, stdout) == length;
}

/* json BUDGET TEXT_HEX NUMBER... */
static void json(void) {
    static struct json writer;
    static uint32_t values[BODY_COUNT_MAX];
    uint32_t budget = number();
    uint8_t *text;
    const size_t length = unhex(word(), &text);
    char *terminated = malloc(length + 1);
    memcpy(terminated, text, length);
    terminated[length] = 0;
    uint32_t count = 0;
    const char *next;
    while ((next = word())) {
        values[count++] = (uint32_t)strtoul(next, NULL, 0);
    }
    json_begin(&writer, write_stdout, &budget);
    json_string(&writer, "text", terminated);
    json_bool(&writer, "bool", count & 1);
    json_number(&writer, "count", count);
    json_ipv4(&writer, "ip", (const uint8_t[]){192, 0, 2, 255});
    json_numbers(&writer, "values", values, count);
    printf("%s", json_end(&writer) ? "" : "\nfailed\n");
    free(text);
    free(terminated);
}

/* settings STORED_HEX, of 192 bytes */
static void settings(void) {
    uint8_t *stored;
    struct settings found = {0};
    unhex(word(), &stored);
    printf("%d", settings_read(stored, &found));
    for (uint32_t i = 0; i < found.count; i++) {
        printf(" %" PRIu32, found.values[i]);
    }
    printf("\n");
    free(stored);
}

/* nested NUMBER...: each in a list of its own, within a list, within an object, between two other values */
static void nested(void) {
    static struct json writer;
    uint32_t budget = UINT32_MAX;
    const char *next;
    json_begin(&writer, write_stdout, &budget);
    json_number(&writer, "before", 1);
    json_open_object(&writer, "object");
    json_open_list(&writer, "lists");
    while ((next = word())) {
        json_open_list(&writer, 0);
        json_item_text(&writer, "way");
        json_item_number(&writer, (uint32_t)strtoul(next, NULL, 0));
        json_close_list(&writer);
    }
    json_close_list(&writer);
    json_close_object(&writer);
    json_number(&writer, "after", 2);
    printf("%s", json_end(&writer) ? "" : "\nfailed\n");
}

static uint32_t reading(void) { return 65535u; }

/* page COUNTER REQUEST_HEX */
static void page(void) {
    uint8_t *request;
    uint32_t counter = number();
    struct answer *answer = malloc(sizeof *answer);
    const size_t length = unhex(word(), &request);
    const bool whole = request_is_whole((const char *)request, (uint32_t)length);
    pages_answer((const char *)request, (uint32_t)length, &counter, reading, answer);
    printf("%d %d %d ", whole, answer->keep, answer->end);
    print_hex(answer->text, answer->length);
    printf("\n");
    free(request);
    free(answer);
}

int main(void) {
    char *line = malloc(LINE_MAX_BYTES);
    while (fgets(line, LINE_MAX_BYTES, stdin)) {
        line[strcspn(line, "\n")] = 0;
        const char *command = strtok(line, " ");
        if (!strcmp(command, "decimal")) {
            decimal();
        } else if (!strcmp(command, "parse")) {
            parse();
        } else if (!strcmp(command, "build")) {
            build();
        } else if (!strcmp(command, "load")) {
            load();
        } else if (!strcmp(command, "json")) {
            json();
        } else if (!strcmp(command, "settings")) {
            settings();
        } else if (!strcmp(command, "nested")) {
            nested();
        } else if (!strcmp(command, "page")) {
            page();
        }
        fflush(stdout);
    }
    free(line);
    return 0;
}

/* Lists and objects within a report. In a file of their own, so that the images that have none keep their bytes. */
#ifndef JSON_NESTED_H
#define JSON_NESTED_H

#include "json.h"

/* An object within the object: the keys that follow are its own, until it is closed. */
void json_open_object(struct json *json, const char *key);
void json_close_object(struct json *json);

/* A list; without a key one within a list. */
void json_open_list(struct json *json, const char *key);
void json_item_number(struct json *json, uint32_t value);
void json_item_text(struct json *json, const char *literal); /* one that needs no escaping */
void json_close_list(struct json *json);

#endif

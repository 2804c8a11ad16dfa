/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_writer.h"

#include "report/json_stream.h"
#include <math.h>
#include <stdlib.h>

static void add_item(fsim_writer *w, cJSON *object, const char *key, cJSON *item)
{
    const bool ok = item && (key ? cJSON_AddItemToObject(object, key, item) : cJSON_AddItemToArray(object, item));
    if (!ok) {
        cJSON_Delete(item);
        w->failed = true;
    }
}

cJSON *fsim_put_new(fsim_writer *w, cJSON *object, const char *key, cJSON *item)
{
    add_item(w, object, key, item);
    return w->failed ? NULL : item; /* cJSON takes NULL for an object and does nothing */
}

void fsim_put_number(fsim_writer *w, cJSON *object, const char *key, double x)
{
    char buffer[40];
    add_item(w, object, key, cJSON_CreateRaw(fsim_json_digits(buffer, x)));
}

void fsim_put_count(fsim_writer *w, cJSON *object, const char *key, fsim_sum count)
{
    char buffer[FSIM_SUM_DIGITS];
    add_item(w, object, key, cJSON_CreateRaw(fsim_sum_digits(buffer, count)));
}

void fsim_put_rounded(fsim_writer *w, cJSON *object, const char *key, double count)
{
    char *text = isfinite(count) ? fsim_printf(w->a, "%.0f", fabs(round(count))) : NULL;
    add_item(w, object, key, cJSON_CreateRaw(text ? text : "null"));
}

void fsim_put_bool(fsim_writer *w, cJSON *object, const char *key, bool yes)
{
    add_item(w, object, key, cJSON_CreateBool(yes));
}

/* Is the text in JSON what it is here, between quotes? */
static bool is_plain(const char *text)
{
    while (*text >= ' ' && *text < 0x7f && *text != '"' && *text != '\\')
        text++;
    return *text == '\0';
}

void fsim_put_text(fsim_writer *w, cJSON *object, const char *key, const char *text)
{
    if (text && is_plain(text)) {
        const fsim_mark mark = fsim_save(w->a);
        add_item(w, object, key, cJSON_CreateRaw(fsim_printf(w->a, "\"%s\"", text)));
        fsim_rewind(w->a, mark);
        return;
    }
    char *quoted = NULL;
    size_t bytes = 0;
    FILE *out = text ? open_memstream(&quoted, &bytes) : NULL;
    if (out) {
        fsim_json_string(out, text);
        const bool whole = !ferror(out);
        w->failed = fclose(out) != 0 || !whole || !quoted || w->failed;
    } else if (text) {
        w->failed = true;
    }
    add_item(w, object, key, cJSON_CreateRaw(quoted ? quoted : "null"));
    free(quoted);
}

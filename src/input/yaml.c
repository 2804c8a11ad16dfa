/* SPDX-License-Identifier: Apache-2.0 */
#include "input/yaml.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* An open list or mapping, whose end has not been read. */
typedef struct {
    fsim_yaml *node;
    int item_room, key_room;
    fsim_yaml *key; /* mapping: the key whose value comes next */
} open_node;

typedef struct {
    fsim_arena *arena;
    fsim_diag *diag;
    const char *file, *text;
    size_t bytes;
    yaml_parser_t yaml;
    open_node open[FSIM_YAML_MAX_DEPTH];
    int depth, nodes, documents;
    fsim_yaml *root;
    bool stop; /* an error that ends parsing */
    bool json; /* the text is to be JSON, in messages */
} parser;

/* libyaml counts lines and columns from 0. */
static fsim_loc place(const parser *p, yaml_mark_t mark)
{
    const size_t most = INT_MAX - 1;
    return (fsim_loc){p->file, (int)(mark.line < most ? mark.line : most) + 1,
                      (int)(mark.column < most ? mark.column : most) + 1};
}

static fsim_loc place_of_byte(const parser *p, size_t offset)
{
    fsim_loc at = {p->file, 1, 1};
    for (size_t i = 0; i < offset && i < p->bytes; i++) {
        const unsigned char c = (unsigned char)p->text[i];
        if (c == '\n') {
            at.line++;
            at.col = 1;
        } else if ((c & 0xC0) != 0x80) {
            at.col++;
        }
    }
    return at;
}

/* The parser's words about a list or a mapping between brackets, for a JSON file. */
static const char *in_json(const char *words)
{
    static const char *const said[][2] = {{"while parsing a flow sequence", "while parsing a list"},
                                          {"while parsing a flow mapping", "while parsing an object"},
                                          {"while parsing a flow node", ""},
                                          {"did not find expected node content", "did not find expected value"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strcmp(words, said[i][0]) == 0)
            return said[i][1];
    return words;
}

static void say_syntax(parser *p, fsim_loc at, const char *problem, const char *context)
{
    if (p->json) {
        problem = in_json(problem);
        context = in_json(context);
    }
    fsim_error(p->diag, at, "%s syntax: %s%s%s", p->json ? "JSON" : "YAML", problem, *context ? " " : "", context);
}

/* Is there a tab at the mark? The text is valid UTF-8. */
static bool at_tab(const parser *p, yaml_mark_t mark)
{
    size_t i = 0;
    for (size_t line = 0; line < mark.line && i < p->bytes; i++)
        line += p->text[i] == '\n';
    for (size_t column = 0; i < p->bytes && p->text[i] != '\n'; i++) {
        column += ((unsigned char)p->text[i] & 0xC0) != 0x80;
        if (column > mark.column)
            return p->text[i] == '\t';
    }
    return false;
}

static void syntax_error(parser *p)
{
    const yaml_parser_t *y = &p->yaml;
    const char *problem = y->problem ? y->problem : "cannot be parsed";
    p->stop = true;
    if (y->error == YAML_MEMORY_ERROR)
        fsim_out_of_memory();
    if (y->error == YAML_READER_ERROR)
        fsim_error(p->diag, place_of_byte(p, y->problem_offset), "this is no UTF-8 text: %s", problem);
    else if (y->error == YAML_SCANNER_ERROR && at_tab(p, y->problem_mark))
        say_syntax(p, place(p, y->problem_mark), "a tab; YAML is indented by spaces alone", "");
    else
        say_syntax(p, place(p, y->problem_mark), problem, y->context ? y->context : "");
}

static void refuse(parser *p, yaml_mark_t mark, const char *what, const char *sigil, const yaml_char_t *name,
                   const char *fix)
{
    fsim_error(p->diag, place(p, mark), "YAML %s '%s%s' is not supported; %s", what, sigil, (const char *)name, fix);
}

static void refuse_decoration(parser *p, yaml_mark_t mark, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    static const char core[] = "tag:yaml.org,2002:";
    if (anchor)
        refuse(p, mark, "anchor", "&", anchor, "write the value at each place");
    if (tag && strncmp((const char *)tag, core, sizeof core - 1) == 0)
        refuse(p, mark, "tag", "!!", tag + sizeof core - 1, "write the plain value");
    else if (tag)
        refuse(p, mark, "tag", "", tag, "write the plain value");
}

static fsim_yaml *new_node(parser *p, fsim_yaml_kind kind, yaml_mark_t mark)
{
    if (++p->nodes > FSIM_YAML_MAX_NODES && !p->stop) {
        fsim_error(p->diag, place(p, mark), "more than %d values, the most that one file may hold",
                   FSIM_YAML_MAX_NODES);
        p->stop = true;
    }
    fsim_yaml *node = fsim_new(p->arena, fsim_yaml, 1);
    node->kind = kind;
    node->at = place(p, mark);
    node->text = "";
    return node;
}

/* Puts node where it belongs: the root, the next item of a list, a key, or the value of the key before it. */
static void attach(parser *p, fsim_yaml *node)
{
    if (p->depth == 0) {
        p->root = node;
        return;
    }
    open_node *o = &p->open[p->depth - 1];
    fsim_yaml *parent = o->node;
    if (parent->kind == FSIM_YAML_MAPPING && !o->key) {
        if (node->kind != FSIM_YAML_SCALAR) {
            fsim_error(p->diag, node->at, "a key must be a plain name, not %s", fsim_yaml_kind_name(node));
            p->stop = true;
        } else if (!node->quoted && strcmp(node->text, "<<") == 0) {
            fsim_error(p->diag, node->at, "YAML merge key '<<' is not supported; write the keys out");
        }
        o->key = node;
        return;
    }
    int count = parent->count;
    if (o->key)
        *FSIM_PUSH(p->arena, parent->key, count, o->key_room) = o->key;
    o->key = NULL;
    *FSIM_PUSH(p->arena, parent->item, parent->count, o->item_room) = node;
}

static void open_collection(parser *p, fsim_yaml *node)
{
    attach(p, node);
    if (p->stop)
        return;
    if (p->depth == FSIM_YAML_MAX_DEPTH) {
        fsim_error(p->diag, node->at, "nested deeper than %d levels", FSIM_YAML_MAX_DEPTH);
        p->stop = true;
        return;
    }
    p->open[p->depth++] = (open_node){.node = node};
}

/* By name, then by position. */
static int by_name(const void *left, const void *right)
{
    const fsim_yaml *a = *(fsim_yaml *const *)left, *b = *(fsim_yaml *const *)right;
    const int names = strcmp(a->text, b->text);
    if (names)
        return names;
    return a->at.line != b->at.line ? (a->at.line < b->at.line ? -1 : 1) : (a->at.col < b->at.col ? -1 : 1);
}

/* Compares neighbours after sorting, so that a mapping of a million keys takes n log n. */
static void check_duplicates(parser *p, const fsim_yaml *map)
{
    if (map->count < 2)
        return;
    fsim_arena *scratch = fsim_arena_new();
    fsim_yaml **sorted = fsim_new(scratch, fsim_yaml *, map->count);
    memcpy(sorted, map->key, (size_t)map->count * sizeof *sorted);
    qsort(sorted, (size_t)map->count, sizeof *sorted, by_name);
    const fsim_yaml *first = sorted[0];
    for (int i = 1; i < map->count; i++) {
        if (strcmp(sorted[i]->text, first->text) != 0)
            first = sorted[i];
        else
            fsim_error(p->diag, sorted[i]->at, "duplicate key '%s', first given at line %d, column %d", first->text,
                       first->at.line, first->at.col);
    }
    fsim_arena_free(scratch);
}

static void scalar(parser *p, const yaml_event_t *e)
{
    refuse_decoration(p, e->start_mark, e->data.scalar.anchor, e->data.scalar.tag);
    fsim_yaml *node = new_node(p, FSIM_YAML_SCALAR, e->start_mark);
    const char *text = (const char *)e->data.scalar.value;
    node->text = fsim_strndup(p->arena, text, e->data.scalar.length);
    node->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (strlen(node->text) != e->data.scalar.length)
        fsim_error(p->diag, node->at, "a NUL character inside a value");
    else
        fsim_check_shows(p->diag, node->at, node->text, e->data.scalar.length);
    attach(p, node);
}

/* One event into the tree. */
static void take(parser *p, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++p->documents > 1) {
            fsim_error(p->diag, place(p, e->start_mark), "a second document starts here; a file holds one");
            p->stop = true;
        }
        break;
    case YAML_SCALAR_EVENT:
        scalar(p, e);
        break;
    case YAML_ALIAS_EVENT:
        refuse(p, e->start_mark, "alias", "*", e->data.alias.anchor, "write the value out");
        attach(p, new_node(p, FSIM_YAML_SCALAR, e->start_mark));
        break;
    case YAML_SEQUENCE_START_EVENT:
        refuse_decoration(p, e->start_mark, e->data.sequence_start.anchor, e->data.sequence_start.tag);
        open_collection(p, new_node(p, FSIM_YAML_SEQUENCE, e->start_mark));
        break;
    case YAML_MAPPING_START_EVENT:
        refuse_decoration(p, e->start_mark, e->data.mapping_start.anchor, e->data.mapping_start.tag);
        open_collection(p, new_node(p, FSIM_YAML_MAPPING, e->start_mark));
        break;
    case YAML_MAPPING_END_EVENT:
        check_duplicates(p, p->open[p->depth - 1].node);
        p->depth--;
        break;
    case YAML_SEQUENCE_END_EVENT:
        p->depth--;
        break;
    default:
        break;
    }
}

static void end_parser(void *yaml) { yaml_parser_delete(yaml); }

static void end_event(void *event) { yaml_event_delete(event); }

/* The document that p, which the caller has filled in, names. NULL after errors. */
static const fsim_yaml *parse(parser *p)
{
    fsim_diag *d = p->diag;
    const char *file = p->file, *text = p->text;
    const size_t bytes = p->bytes;
    const int errors = fsim_errors(d);
    const char *nul = bytes ? memchr(text, '\0', bytes) : NULL;
    if (nul) {
        fsim_error(d, place_of_byte(p, (size_t)(nul - text)), "a NUL byte: this is no UTF-8 text");
        return NULL;
    }
    fsim_resource libyaml;
    if (!yaml_parser_initialize(&p->yaml))
        fsim_out_of_memory();
    fsim_guard(&libyaml, end_parser, &p->yaml);
    yaml_parser_set_encoding(&p->yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p->yaml, (const unsigned char *)text, bytes);
    for (bool end = false; !end && !p->stop;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&p->yaml, &event)) {
            syntax_error(p);
            break;
        }
        end = event.type == YAML_STREAM_END_EVENT;
        fsim_resource held;
        fsim_guard(&held, end_event, &event);
        take(p, &event);
        fsim_release(&held);
    }
    fsim_release(&libyaml);
    if (fsim_errors(d) > errors)
        return NULL;
    if (!p->root || (p->root->kind == FSIM_YAML_SCALAR && !p->root->quoted && !*p->root->text)) {
        fsim_error(d, (fsim_loc){file, 1, 1}, "the file is empty");
        return NULL;
    }
    return p->root;
}

static parser *parser_of(fsim_arena *a, fsim_diag *d, const char *file, const char *text, size_t bytes)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of byte order; libyaml counts it as a column */
    const bool marked = bytes >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0;
    parser *p = fsim_new(a, parser, 1);
    p->arena = a;
    p->diag = d;
    p->file = file;
    p->text = marked ? text + sizeof mark - 1 : text;
    p->bytes = marked ? bytes - (sizeof mark - 1) : bytes;
    return p;
}

const fsim_yaml *fsim_yaml_parse(fsim_arena *a, fsim_diag *d, const char *file, const char *text, size_t bytes)
{
    return parse(parser_of(a, d, file, text, bytes));
}

const fsim_yaml *fsim_yaml_parse_json(fsim_arena *a, fsim_diag *d, const char *file, const char *text, size_t bytes)
{
    parser *p = parser_of(a, d, file, text, bytes);
    p->json = true;
    return parse(p);
}

const fsim_yaml *fsim_yaml_get(const fsim_yaml *map, const char *key)
{
    if (map->kind == FSIM_YAML_MAPPING)
        for (int i = 0; i < map->count; i++)
            if (strcmp(map->key[i]->text, key) == 0)
                return map->item[i];
    return NULL;
}

void fsim_yaml_check_keys(fsim_arena *a, fsim_diag *d, const fsim_yaml *map, const char *what, const char *const *names,
                          int count)
{
    if (map->kind != FSIM_YAML_MAPPING)
        return;
    for (int i = 0; i < map->count; i++) {
        const char *key = map->key[i]->text, *legal = "";
        bool known = false;
        for (int n = 0; n < count; n++)
            known = known || strcmp(names[n], key) == 0;
        for (int n = 0; n < count && !known; n++)
            legal = fsim_printf(a, "%s%s%s", legal, n ? ", " : "", names[n]);
        const char *mean = known ? "" : fsim_did_you_mean(a, key, names, count);
        if (!known)
            fsim_error(d, map->key[i]->at, "unknown key '%s' in %s%s%s its keys are %s", key, what, mean,
                       *mean ? "" : ";", legal);
    }
}

const char *fsim_yaml_kind_name(const fsim_yaml *node)
{
    static const char *const name[] = {"a value", "a list", "a mapping"};
    return name[node->kind];
}

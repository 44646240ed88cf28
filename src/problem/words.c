/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Words, lists of words, and texts that grow. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int problem_same_word(const char *a, size_t n, const char *b) {
  for (size_t i = 0; i < n; i++) {
    char x = a[i] == '_' ? '-' : a[i], y = b[i] == '_' ? '-' : b[i];
    if (x != y || !y) return 0;
  }
  return b[n] == 0;
}

int problem_word_find(const char *list, char separator, const char *word) {
  size_t length = strlen(word);
  int index = 0;
  for (const char *s = list; *s; index++) {
    size_t n = strcspn(s, (char[]){separator, 0});
    if (n == length && problem_same_word(s, n, word)) return index;
    s += n;
    s += *s == separator;
  }
  return -1;
}

char *problem_word_at(const char *list, char separator, int index) {
  for (; index > 0 && list; index--) {
    list = strchr(list, separator);
    list += list != NULL;
  }
  return list ? strndup(list, strcspn(list, (char[]){separator, 0})) : NULL;
}

char *problem_quote(char buf[48], const char *text) {
  size_t i = 0;
  for (; text[i] && i < 40; i++)
    buf[i] = (unsigned char)text[i] < 32 || text[i] == 127 ? '?' : text[i];
  strcpy(buf + i, text[i] ? "..." : "");
  return buf;
}

void problem_text_add(problem_text *text, const char *format, ...) {
  va_list arguments;
  char *added = NULL;
  va_start(arguments, format);
  int n = text->failed ? -1 : vasprintf(&added, format, arguments);
  va_end(arguments);
  if (n >= 0 && text->length + (size_t)n + 1 > text->capacity) {
    size_t capacity = 2 * (text->length + (size_t)n) + 64;
    char *data = realloc(text->data, capacity);
    if (data) {
      text->data = data;
      text->capacity = capacity;
    } else {
      free(added);
      n = -1;
    }
  }
  if (n < 0) {
    text->failed = 1;
    return;
  }
  memcpy(text->data + text->length, added, (size_t)n + 1);
  text->length += (size_t)n;
  free(added);
}

char *problem_text_take(problem_text *text) {
  if (!text->failed && !text->data) problem_text_add(text, "%s", "");
  if (!text->failed) return text->data;
  free(text->data);
  return NULL;
}

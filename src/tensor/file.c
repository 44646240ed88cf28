/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Opening: map the file, look at its first bytes, hand over to the parser of its format. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

attest_status tensor_fail(attest_error *error, attest_status status, const char *path,
                          const char *format, ...) {
  enum { PATH_SHOWN = 160 };
  char message[sizeof error->message];
  size_t length = strlen(path);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (length > PATH_SHOWN)
    return attest_fail(error, status, "...%s: %s", path + length - PATH_SHOWN, message);
  return attest_fail(error, status, "%s: %s", path, message);
}

uint64_t tensor_little_endian(const unsigned char *p, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--)
    value = value << 8 | p[i];
  return value;
}

/* ---- mapping -------------------------------------------------------------------------------- */

static attest_status check_regular(const char *path, const struct stat *info, attest_error *error) {
  if (S_ISDIR(info->st_mode))
    return tensor_fail(error, ATTEST_ERR_IO, path,
                       "is a directory; name a .npy, .npz or .safetensors file in it");
  if (!S_ISREG(info->st_mode))
    return tensor_fail(error, ATTEST_ERR_IO, path,
                       "is a pipe or device, which cannot be mapped; save it to a file first");
  if (info->st_size == 0)
    return tensor_fail(error, ATTEST_ERR_INPUT, path,
                       "is empty (0 bytes); expected a .npy, .npz or .safetensors file");
  if ((uint64_t)info->st_size > SIZE_MAX)
    return tensor_fail(error, ATTEST_ERR_INPUT, path, "is larger than the address space");
  return ATTEST_OK;
}

static attest_status map_descriptor(tensor_file *file, int descriptor, attest_error *error) {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return tensor_fail(error, ATTEST_ERR_IO, file->path, "cannot be examined: %s", strerror(errno));
  attest_status status = check_regular(file->path, &info, error);
  if (status) return status;
  void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (map == MAP_FAILED)
    return tensor_fail(error, ATTEST_ERR_IO, file->path, "cannot be mapped: %s", strerror(errno));
  file->map = map;
  file->size = (size_t)info.st_size;
  return ATTEST_OK;
}

static attest_status map_file(tensor_file *file, attest_error *error) {
  /* Without O_NONBLOCK a named pipe would wait for a writer. */
  int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return tensor_fail(error, ATTEST_ERR_IO, file->path, "cannot be opened: %s", strerror(errno));
  attest_status status = map_descriptor(file, descriptor, error);
  close(descriptor);
  return status;
}

/* ---- formats -------------------------------------------------------------------------------- */

static int has_suffix(const char *path, const char *suffix) {
  size_t length = strlen(path), tail = strlen(suffix);
  return length >= tail && strcmp(path + length - tail, suffix) == 0;
}

/* numpy.savez writes its first member as NAME.npy: the name follows the 30 bytes of the zip header.
 */
static int is_npz(const tensor_file *file) {
  if (has_suffix(file->path, ".npz")) return 1;
  if (file->size < 30) return 0;
  size_t length = (size_t)tensor_little_endian(file->map + 26, 2);
  return length >= 4 && length <= file->size - 30 &&
         memcmp(file->map + 30 + length - 4, ".npy", 4) == 0;
}

/* The remedy names the file; a name that Python would read otherwise is left to the user. */
static attest_status refuse_archive(const tensor_file *file, attest_error *error) {
  int quotable = strlen(file->path) <= 200 && !file->path[strcspn(file->path, "'\\\n")];
  return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                     "is a pickle or zip archive (PyTorch .pt), which could run code when read; "
                     "convert it with\n"
                     "  import torch; from safetensors.torch import save_file\n"
                     "  save_file({'x': torch.load('%s')}, 'x.safetensors')",
                     quotable ? file->path : "x.pt");
}

static attest_status refuse_unknown(const tensor_file *file, attest_error *error) {
  char start[3 * 8 + 1] = "";
  for (size_t i = 0; i < 8 && i < file->size; i++)
    snprintf(start + 3 * i, 4, " %02x", file->map[i]);
  return tensor_fail(
      error, ATTEST_ERR_INPUT, file->path,
      "is none of npy, npz and safetensors: it starts with the bytes%s; save the tensor "
      "with numpy.save or safetensors",
      start);
}

static attest_status parse(tensor_file *file, unsigned flags, attest_error *error) {
  static const unsigned char npy[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  const unsigned char *map = file->map;
  size_t size = file->size;
  if (memcmp(map, npy, size < sizeof npy ? size : sizeof npy) == 0)
    return tensor_npy_parse(file, flags, error);
  if (size >= 4 && map[0] == 'P' && map[1] == 'K' && is_npz(file))
    return tensor_npz_parse(file, flags, error);
  /* Before the archives: a header of 640 or 19280 bytes starts like a pickle or a zip. */
  if (tensor_safetensors_probe(map, size)) return tensor_safetensors_parse(file, error);
  if (size >= 2 &&
      ((map[0] == 'P' && map[1] == 'K') || (map[0] == 0x80 && map[1] >= 2 && map[1] <= 5)))
    return refuse_archive(file, error);
  if (has_suffix(file->path, ".safetensors") || (size > 8 && map[8] == '{'))
    return tensor_safetensors_parse(file, error); /* says what is wrong with it */
  return refuse_unknown(file, error);
}

/* `like`: the file has no header; NULL: its format shows in its first bytes. */
static attest_status open_file(tensor_file **file, const char *path, unsigned flags,
                               const attest_tensor *like, attest_error *error) {
  *file = NULL;
  tensor_file *opened = calloc(1, sizeof *opened);
  if (opened) opened->path = strdup(path);
  if (!opened || !opened->path) {
    free(opened);
    return tensor_fail(error, ATTEST_ERR_MEMORY, path, "out of memory");
  }
  attest_status status = map_file(opened, error);
  if (!status) status = like ? tensor_raw_parse(opened, like, error) : parse(opened, flags, error);
  if (status)
    tensor_file_close(opened);
  else
    *file = opened;
  return status;
}

attest_status tensor_file_open(tensor_file **file, const char *path, unsigned flags,
                               attest_error *error) {
  return open_file(file, path, flags, NULL, error);
}

attest_status tensor_file_open_raw(tensor_file **file, const char *path, const attest_tensor *like,
                                   attest_error *error) {
  return open_file(file, path, 0, like, error);
}

void tensor_file_close(tensor_file *file) {
  if (!file) return;
  for (size_t i = 0; i < file->count; i++) {
    free(file->entries[i].name);
    free(file->entries[i].storage);
  }
  free(file->entries);
  if (file->map) munmap((void *)file->map, file->size);
  free(file->path);
  free(file);
}

/* ---- questions ------------------------------------------------------------------------------ */

const char *tensor_file_path(const tensor_file *file) {
  return file->path;
}

const char *tensor_file_kind(const tensor_file *file) {
  return file->kind;
}

uint64_t tensor_file_size(const tensor_file *file) {
  return file->size;
}

size_t tensor_file_count(const tensor_file *file) {
  return file->count;
}

const char *tensor_file_name(const tensor_file *file, size_t i) {
  return file->entries[i].name;
}

const attest_tensor *tensor_file_tensor(const tensor_file *file, size_t i) {
  return &file->entries[i].tensor;
}

uint64_t tensor_file_offset(const tensor_file *file, size_t i) {
  const tensor_entry *entry = &file->entries[i];
  const unsigned char *start = entry->storage ? entry->storage : file->map;
  return (uint64_t)((const unsigned char *)entry->tensor.data - start);
}

/* Index of the tensor of that name; file->count when there is none. */
static size_t index_of(const tensor_file *file, const char *name) {
  size_t i = 0;
  while (i < file->count && strcmp(file->entries[i].name, name) != 0)
    i++;
  return i;
}

const attest_tensor *tensor_file_find(const tensor_file *file, const char *name) {
  size_t i = index_of(file, name);
  return i < file->count ? &file->entries[i].tensor : NULL;
}

/* ---- "F" and "F:NAME" ----------------------------------------------------------------------- */

static int exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

attest_status tensor_file_open_spec(tensor_file **file, const char **name, const char *spec,
                                    unsigned flags, attest_error *error) {
  *file = NULL;
  *name = NULL;
  char *path = strdup(spec);
  if (!path) return tensor_fail(error, ATTEST_ERR_MEMORY, spec, "out of memory");
  for (size_t end = strlen(spec); end > 0 && !exists(path); end--)
    if (path[end] == ':') {
      path[end] = '\0';
      *name = spec + end + 1;
    }
  if (!exists(path)) { /* the message shall name what was asked for */
    strcpy(path, spec);
    *name = NULL;
  }
  attest_status status = tensor_file_open(file, path, flags, error);
  free(path);
  return status;
}

/* "q, k, v": as many names as fit. */
static void list_names(char *buf, size_t size, const tensor_file *file) {
  size_t used = 0;
  buf[0] = '\0';
  for (size_t i = 0; i < file->count; i++) {
    const char *name = file->entries[i].name;
    if (used + strlen(name) + sizeof ", , ..." > size) {
      snprintf(buf + used, size - used, "%s...", i ? ", " : "");
      return;
    }
    used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", name);
  }
}

/* The tensor of a file with several that is named like its role; names are written with either
 * dash. */
static size_t index_of_role(const tensor_file *file, const char *role) {
  char other[64];
  size_t i = index_of(file, role);
  if (i < file->count || strlen(role) >= sizeof other) return i;
  strcpy(other, role);
  for (char *c = other; *c; c++)
    if (*c == '-') *c = '_';
  return index_of(file, other);
}

attest_status tensor_file_choose(size_t *index, const tensor_file *file, const char *name,
                                 const char *role, attest_error *error) {
  char names[160];
  if (name && file->count == 1 && !*file->entries[0].name)
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                       "this file holds one tensor without a name; leave out ':%.40s'", name);
  if (file->count == 0)
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path, "holds no tensor; save at least one");
  if (name)
    *index = index_of(file, name);
  else if (file->count == 1)
    *index = 0;
  else
    *index = role ? index_of_role(file, role) : file->count;
  if (*index < file->count) return ATTEST_OK;
  list_names(names, sizeof names, file);
  if (name)
    return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                       "has no tensor '%.40s'; name one of: %s", name, names);
  return tensor_fail(error, ATTEST_ERR_INPUT, file->path,
                     "holds %zu tensors and none is named '%.40s'; write FILE:NAME with one of: %s",
                     file->count, role ? role : "", names);
}

attest_status tensor_open(tensor_file **file, attest_tensor *tensor, const char *spec,
                          const char *role, unsigned flags, attest_error *error) {
  const char *name;
  size_t index;
  attest_status status = tensor_file_open_spec(file, &name, spec, flags, error);
  if (status) return status;
  status = tensor_file_choose(&index, *file, name, role, error);
  if (!status) {
    *tensor = (*file)->entries[index].tensor;
    return ATTEST_OK;
  }
  tensor_file_close(*file);
  *file = NULL;
  return status;
}

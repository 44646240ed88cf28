/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* NumPy's .npz: a zip archive (stored or deflated, ZIP64 too) of NAME.npy members, which libzip
 * unpacks into memory, each checked against its CRC. Members that are no npy are passed over. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "file.h"

/* No deflated byte stands for more than 1032 others: a size beyond that is a lie, and is not
 * allocated. */
enum { DEFLATE_RATIO = 1032, DEFLATE_SLACK = 4096 };

static const char remedy[] = "copy the file again, or write it again with numpy.savez";

static int is_npy(const char *name) {
  size_t length = strlen(name);
  return length > 4 && !strcmp(name + length - 4, ".npy");
}

static attest_status open_archive(zip_t **archive, const tensor_file *file, attest_error *error) {
  zip_error_t why;
  zip_error_init(&why);
  zip_source_t *source = zip_source_buffer_create(file->map, file->size, 0, &why);
  *archive = source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &why) : NULL;
  attest_status status = ATTEST_OK;
  if (!*archive) {
    status =
        tensor_fail(error, ATTEST_ERR_INPUT, file->path, "no zip archive that can be read: %s; %s",
                    zip_error_strerror(&why), remedy);
    if (source) zip_source_free(source);
  }
  zip_error_fini(&why);
  return status;
}

static attest_status fail_member(const tensor_file *file, const char *name, const char *what,
                                 attest_error *error) {
  return tensor_fail(error, ATTEST_ERR_INPUT, file->path, "member %.60s: %s; %s", name, what,
                     remedy);
}

/* The bytes of a member, malloc'ed. Reading to the end makes libzip compare the CRC. */
static attest_status unpack(unsigned char **data, const tensor_file *file, zip_t *archive,
                            zip_uint64_t index, const zip_stat_t *info, attest_error *error) {
  if (info->size > SIZE_MAX - 1 ||
      info->size / DEFLATE_RATIO > info->comp_size + DEFLATE_SLACK / DEFLATE_RATIO)
    return fail_member(file, info->name, "its size cannot be true", error);
  *data = malloc((size_t)info->size + 1);
  if (!*data) return tensor_fail(error, ATTEST_ERR_MEMORY, file->path, "out of memory");
  zip_file_t *member = zip_fopen_index(archive, index, 0);
  if (!member) return fail_member(file, info->name, zip_strerror(archive), error);
  zip_uint64_t done = 0;
  zip_int64_t n;
  /* One byte more than is promised, so that the end is seen. */
  while ((n = zip_fread(member, *data + done, info->size + 1 - done)) > 0)
    if ((done += (zip_uint64_t)n) > info->size) break;
  attest_status status = ATTEST_OK;
  if (n < 0)
    status = fail_member(file, info->name, zip_file_strerror(member), error);
  else if (done != info->size)
    status = fail_member(file, info->name, "it is shorter or longer than promised", error);
  zip_fclose(member);
  return status;
}

/* A member becomes an entry, which owns its bytes. */
static attest_status add_member(tensor_file *file, zip_t *archive, zip_uint64_t index,
                                const zip_stat_t *info, unsigned flags, attest_error *error) {
  tensor_entry *entry = &file->entries[file->count];
  attest_status status = unpack(&entry->storage, file, archive, index, info, error);
  char *path = NULL;
  file->count++; /* what it holds is freed with the file */
  if (status) return status;
  if (asprintf(&path, "%s:%.60s", file->path, info->name) < 0)
    return tensor_fail(error, ATTEST_ERR_MEMORY, file->path, "out of memory");
  tensor_file inner = {.path = path, .map = entry->storage, .size = (size_t)info->size};
  status = tensor_npy_parse(&inner, flags, error);
  if (!status) {
    entry->tensor = inner.entries[0].tensor;
    entry->name = strndup(info->name, strlen(info->name) - 4);
    if (!entry->name) status = tensor_fail(error, ATTEST_ERR_MEMORY, file->path, "out of memory");
    free(inner.entries[0].name);
    free(inner.entries);
  }
  free(path);
  return status;
}

attest_status tensor_npz_parse(tensor_file *file, unsigned flags, attest_error *error) {
  zip_t *archive;
  attest_status status = open_archive(&archive, file, error);
  if (status) return status;
  zip_int64_t count = zip_get_num_entries(archive, 0);
  file->entries = calloc((size_t)count + 1, sizeof *file->entries);
  if (!file->entries) status = tensor_fail(error, ATTEST_ERR_MEMORY, file->path, "out of memory");
  for (zip_int64_t i = 0; i < count && !status; i++) {
    zip_stat_t info;
    const zip_uint64_t wanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(archive, (zip_uint64_t)i, 0, &info) || (info.valid & wanted) != wanted)
      status = tensor_fail(error, ATTEST_ERR_INPUT, file->path, "member %" PRId64 ": %s; %s",
                           (int64_t)i, zip_strerror(archive), remedy);
    else if (is_npy(info.name))
      status = add_member(file, archive, (zip_uint64_t)i, &info, flags, error);
  }
  zip_discard(archive);
  snprintf(file->kind, sizeof file->kind, "npz");
  return status;
}

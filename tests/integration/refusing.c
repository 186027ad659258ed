/* Refuses calls of the system below a folder, as file systems do that lack something; for tests with LD_PRELOAD.

   REFUSED_BELOW is the folder; REFUSED lists calls, each with the number of its error: "flock=37 chmod=1". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int of(const char *call) {
	const char *listed = getenv("REFUSED");
	size_t length = strlen(call);
	while (listed && (listed = strstr(listed, call))) {
		if (listed[length] == '=') return atoi(listed + length + 1);
		listed += length;
	}
	return 0;
}

static int is_refused(const char *call, const char *path) {
	const char *below = getenv("REFUSED_BELOW");
	int error = of(call);
	if (!error || !below || !path || !strstr(path, below)) return 0;
	errno = error;
	return 1;
}

static int is_refused_of(const char *call, int file) {
	char link[64], path[PATH_MAX + 1];
	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	ssize_t length = readlink(link, path, PATH_MAX);
	if (length < 0) return 0;
	path[length] = 0;
	return is_refused(call, path);
}

#define NEXT(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

int flock(int f, int how) { return is_refused_of("flock", f) ? -1 : NEXT(int, "flock", int, int)(f, how); }
int fsync(int f) { return is_refused_of("fsync", f) ? -1 : NEXT(int, "fsync", int)(f); }
int fdatasync(int f) { return is_refused_of("fsync", f) ? -1 : NEXT(int, "fdatasync", int)(f); }
int fchmod(int f, mode_t m) { return is_refused_of("chmod", f) ? -1 : NEXT(int, "fchmod", int, mode_t)(f, m); }
int chmod(const char *p, mode_t m) { return is_refused("chmod", p) ? -1 : NEXT(int, "chmod", const char *, mode_t)(p, m); }
int fchmodat(int d, const char *p, mode_t m, int a) {
	return is_refused("chmod", p) ? -1 : NEXT(int, "fchmodat", int, const char *, mode_t, int)(d, p, m, a);
}
int futimens(int f, const struct timespec t[2]) {
	return is_refused_of("utime", f) ? -1 : NEXT(int, "futimens", int, const struct timespec *)(f, t);
}
int utimensat(int d, const char *p, const struct timespec t[2], int a) {
	return is_refused("utime", p) ? -1 : NEXT(int, "utimensat", int, const char *, const struct timespec *, int)(d, p, t, a);
}
int link(const char *a, const char *b) {
	return is_refused("link", b) ? -1 : NEXT(int, "link", const char *, const char *)(a, b);
}
int linkat(int c, const char *a, int d, const char *b, int e) {
	return is_refused("link", b) ? -1 : NEXT(int, "linkat", int, const char *, int, const char *, int)(c, a, d, b, e);
}
int symlink(const char *a, const char *b) {
	return is_refused("symlink", b) ? -1 : NEXT(int, "symlink", const char *, const char *)(a, b);
}
int rename(const char *a, const char *b) {
	return is_refused("rename", b) ? -1 : NEXT(int, "rename", const char *, const char *)(a, b);
}
int renameat(int c, const char *a, int d, const char *b) {
	return is_refused("rename", b) ? -1 : NEXT(int, "renameat", int, const char *, int, const char *)(c, a, d, b);
}
int unlink(const char *p) { return is_refused("unlink", p) ? -1 : NEXT(int, "unlink", const char *)(p); }
void *mmap(void *a, size_t l, int p, int fl, int f, off_t o) {
	if (f >= 0 && (fl & 1) && is_refused_of("mmap", f)) return (void *)-1;
	return NEXT(void *, "mmap", void *, size_t, int, int, int, off_t)(a, l, p, fl, f, o);
}
void *mmap64(void *a, size_t l, int p, int fl, int f, off_t o) { return mmap(a, l, p, fl, f, o); }
ssize_t write(int f, const void *b, size_t n) { return is_refused_of("write", f) ? -1 : NEXT(ssize_t, "write", int, const void *, size_t)(f, b, n); }
ssize_t pwrite(int f, const void *b, size_t n, off_t o) {
	return is_refused_of("write", f) ? -1 : NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t)(f, b, n, o);
}
ssize_t pwrite64(int f, const void *b, size_t n, off_t o) { return pwrite(f, b, n, o); }
ssize_t read(int f, void *b, size_t n) { return is_refused_of("read", f) ? -1 : NEXT(ssize_t, "read", int, void *, size_t)(f, b, n); }
ssize_t pread(int f, void *b, size_t n, off_t o) {
	return is_refused_of("read", f) ? -1 : NEXT(ssize_t, "pread", int, void *, size_t, off_t)(f, b, n, o);
}
ssize_t pread64(int f, void *b, size_t n, off_t o) { return pread(f, b, n, o); }

static int locked(const char *real, int f, int command, va_list given) {
	void *argument = va_arg(given, void *);
	int is_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
	if (is_lock && is_refused_of("fcntl", f)) return -1;
	return NEXT(int, real, int, int, ...)(f, command, argument);
}
int fcntl(int f, int command, ...) {
	va_list given;
	va_start(given, command);
	int told = locked("fcntl", f, command, given);
	va_end(given);
	return told;
}
int fcntl64(int f, int command, ...) {
	va_list given;
	va_start(given, command);
	int told = locked("fcntl64", f, command, given);
	va_end(given);
	return told;
}

/*
 * watched.h - whether this program is built with a sanitizer that watches the
 * ends of blocks, or who writes them: then each is one of malloc().
 *
 * Threads: a macro only.
 */
#ifndef TFD_COMMON_WATCHED_H
#define TFD_COMMON_WATCHED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TFD_IS_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TFD_IS_WATCHED 1
#endif
#endif

#ifndef TFD_IS_WATCHED
#define TFD_IS_WATCHED 0
#endif

#endif

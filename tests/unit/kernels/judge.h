/*
 * judge.h - JUDGE, before a function of a test that computes what is expected.
 *
 * Such loops are plain, long, not optimised, and have one thread, so there is
 * nothing in them that could race; ThreadSanitizer, which looks at each of
 * their accesses, takes ten times as long for them as for the code that they
 * judge.
 */
#ifndef TFD_TESTS_UNIT_JUDGE_H
#define TFD_TESTS_UNIT_JUDGE_H

#define JUDGE __attribute__((no_sanitize("thread")))

#endif

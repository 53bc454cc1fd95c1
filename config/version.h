/*
 * version.h - the version of this program, for --version, Hello and metrics.
 *
 * Threads: a constant.
 */
#ifndef TFD_CONFIG_VERSION_H
#define TFD_CONFIG_VERSION_H

#define TFD_VERSION "0.1.0"

#endif

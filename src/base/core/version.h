/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_VERSION_H
#define SL_VERSION_H
#define SL_VERSION "0.1.0" /* the one place; meson.build and CHANGELOG.md follow it (tidy test) */
#endif

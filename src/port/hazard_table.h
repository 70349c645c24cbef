/* SPDX-License-Identifier: Apache-2.0
 *
 * hazard_table.h: the rule table's parts. Only hazard.c joins them; everyone else asks hazard.h.
 */
#ifndef PORT_HAZARD_TABLE_H
#define PORT_HAZARD_TABLE_H
#include "port/hazard.h"

extern const struct hazard_rule hazard_table_wave[], hazard_table_device[], hazard_table_memory[],
    hazard_table_build[];
extern const size_t hazard_table_wave_n, hazard_table_device_n, hazard_table_memory_n,
    hazard_table_build_n;
#endif

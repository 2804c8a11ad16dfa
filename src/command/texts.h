/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h: files of this tree that the build compiles in. */
#ifndef FUSESIM_COMMAND_TEXTS_H
#define FUSESIM_COMMAND_TEXTS_H

extern const char fsim_formats_text[];         /* docs/FORMATS.md */
extern const char fsim_completion_bash_text[]; /* completion.bash.in and so on, beside this file */
extern const char fsim_completion_zsh_text[];
extern const char fsim_completion_fish_text[];

#endif

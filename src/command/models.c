/* SPDX-License-Identifier: Apache-2.0 */
/* models: the transformers that have a name; or one of them, or of a config.json, in full. */
#include "report/models.h"
#include "command/command.h"

int fsim_run_models(fsim_context *c)
{
    const char *const *names = c->args.at;
    const int count = c->args.count ? c->args.count : fsim_model_names(&names);
    fsim_shown_models shown = {fsim_new(c->arena, const fsim_model *, count + 1), 0, c->args.count == 1};
    for (int i = 0; i < count; i++) {
        const fsim_model *m = fsim_model_load(c->arena, c->diag, names[i]);
        if (m)
            shown.at[shown.count++] = m;
    }
    const int status = fsim_conclude(c, FSIM_EXIT_OK);
    return status ? status : fsim_answer(c, &shown);
}

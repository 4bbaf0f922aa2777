#include "body.h"

#include "answers.h"

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    struct stream stream;
    const char *error = answers_give(config, tcp, &stream, figures, "the PC does not connect",
                                     "the PC said something else than a number");
    if (error) {
        return error;
    }
    w5500_command(ANSWERS_SOCKET, Sn_CR_DISCON);
    return 0;
}

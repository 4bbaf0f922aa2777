/* USART0 as the console: 115200 baud, 8N1. */
#pragma once

void console_start(void);
void console_print(const char *text);

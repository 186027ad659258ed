"""The command `dialogue-warehouse`: options in, one call, result out; a module a group of commands.

What belongs here: options, help texts, exit statuses, and the display of what only a command has. What does not: any
work. Imports stay inside the commands, because some of the libraries take seconds.
"""

"""A group of commands whose help says in whole sentences what each of them does."""

import click


class Group(click.Group):
    """Lists its commands by the first paragraph of their help, folded where click cuts it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, _about(each)) for name, each in commands if each and not each.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _about(command: click.Command) -> str:
    said = command.short_help or command.help or ""
    return " ".join(said.partition("\n\n")[0].split())

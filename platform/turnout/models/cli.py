import typer

models_app = typer.Typer()

"""Templates find in contexts whose macros are kept what they find in dbt's own."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from dbt.context import exceptions_jinja, providers
from dbt.context.macros import MacroNamespaceBuilder
from dbt_common.exceptions import CompilationError

from dialogue_warehouse.paths import WarehousePaths
from pipelines.building import dbt, dbt_changes
from tests.dbt_runs import run_dbt


def compiled(folder: Path, made: contextlib.AbstractContextManager[None]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The query of each node, and the macros that it was found to depend on."""
    paths = WarehousePaths(folder)
    manifest = dbt.parse(paths)
    with made:
        results = run_dbt(manifest, paths, "compile")
    return {of.node.unique_id: (of.node.compiled_code, tuple(sorted(of.node.depends_on.macros))) for of in results}


def test_every_query_of_the_project_is_what_dbt_makes_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    build = MacroNamespaceBuilder.build_namespace

    def counted(builder, macros, context):
        built.append(builder.node.name if builder.node else "")
        return build(builder, macros, context)

    monkeypatch.setattr(MacroNamespaceBuilder, "build_namespace", counted)
    by_dbt = compiled(tmp_path, contextlib.nullcontext())
    of_dbt = len(built)
    ours = compiled(tmp_path, dbt_changes.reuse_contexts())
    assert len(by_dbt) > 100
    assert ours == by_dbt
    assert len(built) - of_dbt < of_dbt / 5  # what is to be spared is there, and is spared


def test_error_of_a_template_names_its_node() -> None:
    raised = dbt_changes.Exceptions(exceptions_jinja.CONTEXT_EXPORTS, exceptions_jinja.wrapper("the model"))
    with pytest.raises(CompilationError) as refused:
        raised["raise_compiler_error"]("what is wrong")
    assert (refused.value.msg, refused.value.node) == ("what is wrong", "the model")
    with pytest.raises(KeyError):
        raised["raise_no_such_error"]


def test_dbt_is_itself_again_afterwards() -> None:
    build, wrapped = providers.ModelContext._build_namespace, providers.wrapped_exports
    with pytest.raises(RuntimeError), dbt_changes.reuse_contexts():
        assert providers.ModelContext._build_namespace is not build
        assert providers.wrapped_exports is not wrapped
        raise RuntimeError
    assert (providers.ModelContext._build_namespace, providers.wrapped_exports) == (build, wrapped)

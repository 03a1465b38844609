"""LangChain's AgentExecutor around its classic ReAct agent, with LangChain's own scripted model."""

from collections.abc import Sequence

from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_core.language_models import FakeListLLM
from langchain_core.prompts import PromptTemplate
from langchain_core.tools import tool

from benchmarks.frameworks.script import QUESTION, in_labels, look_up

PROMPT = PromptTemplate.from_template(
    "Answer the question. You have these tools:\n\n{tools}\n\n"
    "Thought: what to do\nAction: one of [{tool_names}]\nAction Input: its input\n"
    "Observation: what came of it\n... and at the end\nFinal Answer: your answer\n\n"
    "Question: {input}\nThought:{agent_scratchpad}"
)
# The agent hands a tool the text as it stands, and its model begins anew after the last reply.
MODEL = FakeListLLM(responses=list(in_labels("%s", "Final Answer:")))
TOOLS = [tool(look_up)]
EXECUTOR = AgentExecutor(agent=create_react_agent(MODEL, TOOLS, PROMPT), tools=TOOLS)


def run(times: int) -> Sequence[str | None]:
    """Return the answers of so many runs."""
    return [EXECUTOR.invoke({"input": QUESTION})["output"] for _ in range(times)]

"""Give subgraphs of the same name different names in a drawing, as Mermaid requires."""

from collections import Counter

from langchain_core.runnables.graph import Graph


class Drawing(Graph):
    """LangChain's graph of nodes and edges; its own `draw_mermaid` refuses names that occur twice."""

    def reid(self) -> Graph:
        """Return the graph with readable ids; a name that occurs twice is prefixed with that of the enclosing graph."""
        drawn = super().reid()
        holders = {node.rpartition(":")[0] for node in drawn.nodes}
        paths = {
            ":".join(parts[:end]) for parts in (one.split(":") for one in holders) for end in range(1, len(parts) + 1)
        }
        names = Counter(path.rpartition(":")[2] for path in paths)

        def renamed(node: str) -> str:
            *within, own = node.split(":")
            for place, name in enumerate(within):
                if place and names[name] > 1:
                    within[place] = f"{within[place - 1]}_{name}"
            return ":".join((*within, own))

        nodes = {renamed(key): node.copy(id=renamed(key)) for key, node in drawn.nodes.items()}
        edges = [edge.copy(source=renamed(edge.source), target=renamed(edge.target)) for edge in drawn.edges]
        return Graph(nodes=nodes, edges=edges)

//! The flame graph: where loading time goes, from the program down to the loading function.

use std::collections::BTreeMap;

use windlass_trace_report::Sum;
use windlass_trace_report::frames::{Frame, Kind};
use windlass_trace_report::report::Report;

use super::escape::escaped;
use super::section;
use crate::cmd::trace::numbers::{count, percent, time};

const HEIGHT: u32 = 20;
const MAX_DEPTH: usize = 120;
/// Narrower frames are not drawn.
const NARROWEST: f64 = 0.0005;
const MAX_FRAMES: usize = 4_000;

/// The section, if there are stacks.
pub fn render(report: &Report) -> String {
    let root = Node::of(report);
    if root.sum.wall == 0 {
        return String::new();
    }
    let mut drawing = Drawing { whole: root.sum.wall as f64, svg: String::new(), depth: 0, drawn: 0, left_out: 0 };
    drawing.draw(&root, 0, 0);
    let mut body = format!(
        "<div class=\"tools\"><input type=\"search\" id=\"find\" placeholder=\"Find a function or file\" \
         aria-label=\"Find a function or file\" hidden><button type=\"button\" id=\"reset\" hidden>Show all</button>\
         <span id=\"found\" role=\"status\"></span></div>\n<svg id=\"flame\" height=\"{}\">\n{}</svg>\n",
        (drawing.depth + 1) as u32 * HEIGHT,
        drawing.svg
    );
    if drawing.left_out > 0 {
        let left_out = count(drawing.left_out, "frame is", "frames are");
        body.push_str(&format!("<p class=\"about\">{left_out} too narrow to be drawn.</p>\n"));
    }
    let explanation = "Time from left to right adds up, in no order; each frame is called by the one above it. \
        <span class=\"legend\"><i class=\"key script\"></i>script</span> \
        <span class=\"legend\"><i class=\"key native\"></i>machine code</span> \
        <span class=\"legend\"><i class=\"key object\"></i>code without names</span> \
        <span class=\"legend\"><i class=\"key entry\"></i>loading function</span>";
    section("where", "Where it loads", explanation, &body)
}

#[derive(Default)]
struct Node {
    sum: Sum,
    children: BTreeMap<Frame, Node>,
}

impl Node {
    fn of(report: &Report) -> Node {
        let mut root = Node::default();
        for stack in &report.stacks {
            let program =
                Frame { kind: Kind::Object, name: stack.program.clone(), place: Some(String::from("program")) };
            // The innermost frames matter most: the loading function and who called it.
            let skip = stack.frames.len().saturating_sub(MAX_DEPTH);
            root.sum.add(stack.sum);
            let mut node = &mut root;
            for frame in [&program].into_iter().chain(&stack.frames[skip..]) {
                node = node.children.entry(frame.clone()).or_default();
                node.sum.add(stack.sum);
            }
        }
        root
    }

    /// Itself and all below.
    fn size(&self) -> u64 {
        1 + self.children.values().map(Node::size).sum::<u64>()
    }
}

struct Drawing {
    whole: f64,
    svg: String,
    depth: usize,
    drawn: usize,
    left_out: u64,
}

impl Drawing {
    fn draw(&mut self, node: &Node, depth: usize, start: u64) {
        let mut children: Vec<_> = node.children.iter().collect();
        children.sort_by_key(|(_, child)| std::cmp::Reverse(child.sum.wall));
        let mut start = start;
        for (frame, child) in children {
            let width = child.sum.wall as f64 / self.whole;
            if width < NARROWEST || self.drawn >= MAX_FRAMES {
                self.left_out += child.size();
                continue;
            }
            self.frame(frame, child.sum, depth, start as f64 / self.whole, width);
            self.draw(child, depth + 1, start);
            start += child.sum.wall;
        }
    }

    fn frame(&mut self, frame: &Frame, sum: Sum, depth: usize, left: f64, width: f64) {
        self.drawn += 1;
        self.depth = self.depth.max(depth);
        let class = match (frame.kind, depth) {
            (_, 0) => "program",
            (Kind::Entry, _) => "entry",
            (Kind::Native, _) => "native",
            (Kind::Object, _) => "object",
            (Kind::Script, _) => "script",
        };
        let place = frame.place.as_deref().map(|place| format!(" ({place})")).unwrap_or_default();
        let title = format!(
            "{}{place}: {}, {} of loading, {} of CPU, {}, {}",
            frame.name,
            time(sum.wall),
            percent(width),
            time(sum.cpu),
            count(sum.calls, "call", "calls"),
            count(sum.certificates, "certificate", "certificates")
        );
        let label = match (&frame.place, frame.kind) {
            (Some(place), Kind::Script) => format!("{} {}", frame.name, place.rsplit('/').next().unwrap_or(place)),
            _ => frame.name.clone(),
        };
        // An svg of its own cuts off what is too long for the frame.
        self.svg.push_str(&format!(
            "<svg class=\"frame {class}\" x=\"{:.4}%\" y=\"{}\" width=\"{:.4}%\" height=\"{}\" data-depth=\"{depth}\" \
             data-left=\"{left:.6}\" data-width=\"{width:.6}\"><title>{}</title><rect width=\"100%\" height=\"100%\"/>\
             <text x=\"5\" y=\"14\">{}</text></svg>\n",
            left * 100.0,
            depth as u32 * HEIGHT,
            width * 100.0,
            HEIGHT - 1,
            escaped(&title),
            escaped(&label)
        ));
    }
}

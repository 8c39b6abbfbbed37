//! DER as a tree that can be changed and encoded again, with correct lengths, or wrong ones where a test wants them.

#[derive(Clone, Debug)]
pub struct Node {
    pub tag: u8,
    pub content: Content,
    /// How many bytes more than necessary the length has.
    pub length_padding: usize,
}

#[derive(Clone, Debug)]
pub enum Content {
    Bytes(Vec<u8>),
    Nodes(Vec<Node>),
}

impl Node {
    pub fn bytes(tag: u8, bytes: impl Into<Vec<u8>>) -> Node {
        Node { tag, content: Content::Bytes(bytes.into()), length_padding: 0 }
    }

    pub fn nodes(tag: u8, nodes: Vec<Node>) -> Node {
        Node { tag, content: Content::Nodes(nodes), length_padding: 0 }
    }

    /// Reads one element. Constructed ones become trees; primitive ones stay bytes.
    pub fn parse(der: &[u8]) -> Node {
        let (node, rest) = parse(der);
        assert!(rest.is_empty());
        node
    }

    pub fn encode(&self) -> Vec<u8> {
        let content: Vec<u8> = match &self.content {
            Content::Bytes(bytes) => bytes.clone(),
            Content::Nodes(nodes) => nodes.iter().flat_map(Node::encode).collect(),
        };
        let mut out = vec![self.tag];
        let len: Vec<u8> = content.len().to_be_bytes().into_iter().skip_while(|&byte| byte == 0).collect();
        if content.len() < 0x80 && self.length_padding == 0 {
            out.push(content.len() as u8);
        } else {
            out.push(0x80 | (len.len() + self.length_padding) as u8);
            out.extend(std::iter::repeat_n(0, self.length_padding));
            out.extend(len);
        }
        out.extend(content);
        out
    }

    pub fn children(&mut self) -> &mut Vec<Node> {
        match &mut self.content {
            Content::Nodes(nodes) => nodes,
            Content::Bytes(_) => panic!("no children"),
        }
    }

    /// The number of nodes in this tree.
    pub fn count(&self) -> usize {
        match &self.content {
            Content::Bytes(_) => 1,
            Content::Nodes(nodes) => 1 + nodes.iter().map(Node::count).sum::<usize>(),
        }
    }

    /// The node at this place, counted from the top, parents before children.
    pub fn at(&mut self, mut place: usize) -> &mut Node {
        if place == 0 {
            return self;
        }
        place -= 1;
        for node in self.children() {
            let count = node.count();
            if place < count {
                return node.at(place);
            }
            place -= count;
        }
        panic!("no such place")
    }
}

fn parse(der: &[u8]) -> (Node, &[u8]) {
    let (len, header) = match der[1] {
        short @ 0..=0x7F => (usize::from(short), 2),
        long => {
            let bytes = usize::from(long & 0x7F);
            (der[2..2 + bytes].iter().fold(0, |n, &byte| n << 8 | usize::from(byte)), 2 + bytes)
        }
    };
    let (content, rest) = der[header..].split_at(len);
    let node = if der[0] & 0x20 == 0 {
        Node::bytes(der[0], content)
    } else {
        let mut nodes = Vec::new();
        let mut left = content;
        while !left.is_empty() {
            let (node, rest) = parse(left);
            nodes.push(node);
            left = rest;
        }
        Node::nodes(der[0], nodes)
    };
    (node, rest)
}

pub const SEQUENCE: u8 = 0x30;
pub const SET: u8 = 0x31;
pub const OID: u8 = 0x06;
pub const INTEGER: u8 = 0x02;
pub const BIT_STRING: u8 = 0x03;
pub const OCTET_STRING: u8 = 0x04;

/// One attribute of a name: the content of the OID, the tag of the value, and its content.
pub type Entry = (Vec<u8>, u8, Vec<u8>);

pub fn leaf(tag: u8, content: &[u8]) -> Node {
    Node::bytes(tag, content)
}

pub fn sequence(nodes: impl Into<Vec<Node>>) -> Node {
    Node::nodes(SEQUENCE, nodes.into())
}

/// The DER of a Name that is one commonName, with a value of this tag.
pub fn common_name(tag: u8, value: &[u8]) -> Vec<u8> {
    name(&[vec![(vec![0x55, 4, 3], tag, value.to_vec())]])
}

/// The DER of a Name of these RDNs.
pub fn name(rdns: &[Vec<Entry>]) -> Vec<u8> {
    let entry = |(oid, tag, value): &Entry| {
        Node::nodes(SEQUENCE, vec![Node::bytes(OID, oid.clone()), Node::bytes(*tag, value.clone())])
    };
    let rdn = |entries: &Vec<_>| Node::nodes(SET, entries.iter().map(entry).collect());
    Node::nodes(SEQUENCE, rdns.iter().map(rdn).collect()).encode()
}

//! Blocks for a browser: modules of WebAssembly, each with the blocks that were made since the one before it.

use iced_x86::{FlowControl, Instruction};
use wasm_encoder::{
    CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, MemoryType, Module,
    RefType, TableType, TypeSection, ValType,
};

use super::super::mistakes::Mistakes;
use super::super::routines::Routines;
use super::super::x86::{Code, decode};
use super::{Called, Kind, Lowering, Shared, type_of};

#[link(wasm_import_module = "jit")]
unsafe extern "C" {
    /// Compiles a module with the memory and the table of this one, and puts its function `run` into the table. Returns
    /// its place there, or 0 if the browser refuses.
    fn compile(at: *const u8, bytes: usize) -> usize;
    /// Takes a function out of the table.
    fn release(function: usize);
}

/// Bytes of code for x86-64, after which all of it is dropped.
pub(in super::super) const SIZE: usize = 4 << 20;
/// The address that the first code is assembled for.
const BASE: usize = 1 << 30;
/// Most links.
const LINKS: usize = 1 << 16;
/// The types of a module's functions, before those of [`Called`].
const TYPES: [Kind; 3] = [Kind::Blocks, Kind::Engine, Kind::Keeping];

/// Blocks have numbers from 1 on; code jumps by them. 0 leads to the exit.
pub(in super::super) struct Buffer {
    size: usize,
    used: usize,
    links: Box<[usize]>,
    links_used: usize,
    /// The code that blocks share, and its routines' functions.
    shared: Option<(Shared, Vec<(Function, Kind)>)>,
    /// Blocks that are in no module yet.
    waiting: Vec<Code>,
    /// The function of each block, by its number less 1, of those in modules.
    functions: Vec<usize>,
}

impl Buffer {
    /// Blocks that are compiled at once.
    pub(in super::super) const BATCH: usize = if cfg!(feature = "mistakes") { 4 } else { 64 };

    pub(crate) fn new(size: usize) -> Option<Self> {
        let links = vec![0; LINKS].into_boxed_slice();
        Some(Self { size, used: 0, links, links_used: 0, shared: None, waiting: Vec::new(), functions: Vec::new() })
    }

    pub(crate) fn start(&self) -> usize {
        0
    }

    /// Returns the address that the next code is assembled for.
    pub(crate) fn next(&self) -> usize {
        BASE + self.used
    }

    pub(crate) fn has_room(&self, bytes: usize, links: usize) -> bool {
        bytes <= self.size - self.used && links <= LINKS - self.links_used
    }

    /// Returns the address of the next link.
    pub(crate) fn next_link(&self) -> usize {
        self.links.as_ptr().addr() + self.links_used * size_of::<usize>()
    }

    /// Adds links, and returns the first one's number.
    pub(crate) fn add_links(&mut self, links: usize) -> usize {
        let first = self.links_used;
        self.links_used += links;
        first
    }

    /// Lets blocks that jump by a link jump to a block.
    pub(crate) fn link(&mut self, link: usize, number: usize) {
        assert!(link < self.links_used);
        // SAFETY: that is in bounds. Code of a running block only reads it.
        unsafe { self.links.as_mut_ptr().add(link).write_volatile(number) }
    }

    /// Takes the code that blocks share. False: it cannot be lowered.
    pub(crate) fn share(&mut self, code: &[u8], routines: &Routines) -> bool {
        let base = self.next();
        let Routines { enter, leave, bail, no_block, abandon, cross_region_jump, miss, .. } = *routines;
        let part = |from: usize, to: usize| decode(&code[from - base..to - base], from);
        let mut rest = part(no_block, enter);
        rest.extend(part(cross_region_jump, miss));
        let root = |address: usize| rest.binary_search_by_key(&(address as u64), Instruction::ip).ok();
        let roots = [bail, leave, no_block, abandon, cross_region_jump].into_iter().map(root).collect::<Option<_>>();
        let Some(roots) = roots else { return false };
        let keeping = [routines.miss, routines.touch].into_iter().chain(routines.port).map(|at| (at, Kind::Keeping));
        let engine = [routines.load, routines.store, routines.poll].into_iter().flatten();
        let engine = engine.chain([routines.execute]).map(|at| (at, Kind::Engine));
        let all: Vec<(usize, Kind)> = keeping.into_iter().chain(engine).collect();
        let upto_return = |at: usize| {
            let mut code = part(at, base + code.len());
            let end = code.iter().position(|instruction| instruction.flow_control() == FlowControl::Return);
            code.truncate(end.map_or(0, |end| end + 1));
            Code::new(code)
        };
        let numbered = all.iter().enumerate();
        let shared = Shared {
            enter: Code::new(part(enter, cross_region_jump)),
            roots,
            rest: Code::new(rest),
            no_block: no_block as u64,
            abandon: abandon as u64,
            routines: numbered.map(|(number, &(at, kind))| (at as u64, (number as u32, kind))).collect(),
            called: TYPES.len() as u32,
        };
        let function = |&(at, kind): &(usize, Kind)| {
            let lowering = Lowering::new(kind, &shared, &Mistakes::default()).routine(&upto_return(at));
            lowering.map(|function| (function, kind))
        };
        let Some(functions) = all.iter().map(function).collect() else { return false };
        self.shared = Some((shared, functions));
        self.used = (self.used + code.len()).next_multiple_of(16);
        true
    }

    /// Adds a block assembled for [`Self::next`].
    pub(crate) fn add(&mut self, code: &[u8]) -> bool {
        self.waiting.push(Code::read(code, self.next()));
        self.used = (self.used + code.len()).next_multiple_of(16).min(self.size);
        true
    }

    /// Compiles the blocks that were added since the last call, and returns their numbers; 0: it cannot be lowered. `None`:
    /// the browser refuses.
    pub(crate) fn compile(&mut self, mistakes: &Mistakes) -> Option<Vec<u32>> {
        let first = self.functions.len() + 1;
        let waiting = std::mem::take(&mut self.waiting);
        let (module, able) = self.module(&waiting, first as u32, mistakes)?;
        // SAFETY: the module is only read.
        let function = unsafe { compile(module.as_ptr(), module.len()) };
        self.functions.extend(vec![function; waiting.len()]);
        debug_assert!(able.iter().all(|&able| able), "code of a block that WebAssembly cannot have");
        let number = |(number, able): (usize, bool)| if able { number as u32 } else { 0 };
        (function != 0).then(|| (first..).zip(able).map(number).collect())
    }

    fn module(&self, blocks: &[Code], first: u32, mistakes: &Mistakes) -> Option<(Vec<u8>, Vec<bool>)> {
        let (shared, routines) = self.shared.as_ref()?;
        let mut types = TypeSection::new();
        for kind in TYPES {
            let all = |registers: Vec<usize>| registers.into_iter().map(type_of).collect::<Vec<_>>();
            match kind {
                Kind::Blocks => types.ty().function([ValType::I32; 3], [ValType::I32]),
                Kind::Engine => {
                    let returns = [ValType::I32].into_iter().chain(all(kind.returns())).collect::<Vec<_>>();
                    types.ty().function(all(kind.takes()), returns);
                }
                Kind::Keeping => types.ty().function(all(kind.takes()), all(kind.returns())),
            }
        }
        for called in Called::ALL {
            types.ty().function(called.parameters(), [ValType::I32]);
        }
        let mut imports = ImportSection::new();
        let memory = MemoryType { minimum: 0, maximum: None, memory64: false, shared: false, page_size_log2: None };
        imports.import("jit", "memory", EntityType::Memory(memory));
        let table =
            TableType { element_type: RefType::FUNCREF, table64: false, minimum: 0, maximum: None, shared: false };
        imports.import("jit", "table", EntityType::Table(table));
        let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
        let type_index = |kind: Kind| TYPES.iter().position(|&other| other == kind).unwrap_or_default() as u32;
        for (routine, kind) in routines {
            functions.function(type_index(*kind));
            code.function(routine);
        }
        functions.function(type_index(Kind::Blocks));
        let (run, able) = Lowering::new(Kind::Blocks, shared, mistakes).blocks(blocks, first)?;
        code.function(&run);
        let mut exports = ExportSection::new();
        exports.export("run", ExportKind::Func, routines.len() as u32);
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions).section(&exports).section(&code);
        Some((module.finish(), able))
    }

    /// Returns the function that runs a block.
    pub(crate) fn function(&self, _: &Routines, number: usize) -> usize {
        self.functions[number - 1]
    }

    /// Drops the links and all blocks.
    pub(crate) fn truncate(&mut self, length: usize) {
        (self.links_used, self.used) = (0, length);
        self.waiting.clear();
        let mut functions = std::mem::take(&mut self.functions);
        functions.dedup();
        for function in functions.into_iter().filter(|&function| function != 0) {
            // SAFETY: no block runs.
            unsafe { release(function) }
        }
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.truncate(0);
    }
}

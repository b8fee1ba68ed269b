// SPDX-License-Identifier: GPL-2.0-only
//! What schedulers of other people use, one small file for each: it runs, or is refused by name.

use model::{KnobValue, Outcome};

use crate::common::{compiled_text, hogs_and_sleepers, supervise, trial_of};

/// A scheduler: what stands before its callbacks, what `enqueue` does first, further callbacks, and
/// their places in the table.
type Stranger = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// All of these run. Each checks what it can with `scx_bpf_error()`.
const RUN: &[Stranger] = &[
    (
        "ring",
        "struct ev { u32 pid; char comm[16]; };\n\
         struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 16384); }\n\
         rb SEC(\".maps\");",
        "struct ev *e = bpf_ringbuf_reserve(&rb, sizeof(*e), 0); struct ev other = {};\n\
         if (e) { e->pid = p->pid; bpf_probe_read_kernel_str(e->comm, 16, p->comm);\n\
         bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP); }\n\
         bpf_ringbuf_output(&rb, &other, sizeof(other), 0);",
        "",
        "",
    ),
    (
        "perf",
        "struct { __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY); __uint(key_size, 4);\n\
         __uint(value_size, 4); } events SEC(\".maps\");",
        "u64 x = bpf_ktime_get_tai_ns();\n\
         if (bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &x, 8) != -ENOENT)\n\
         scx_bpf_error(\"somebody listens\");",
        "",
        "",
    ),
    (
        "loops",
        "struct lc { u64 sum; };\nu32 seen;\n\
         static long body(u32 i, void *c)\n\
         { struct lc *l = c; l->sum += i; return i == 5; }",
        "struct lc l = {}; int i; bpf_loop(10, body, &l, 0);\n\
         if (l.sum != 15) scx_bpf_error(\"sum %llu\", l.sum);\n\
         bpf_for(i, 0, 32) { if (i == (p->pid & 31)) { seen++; break; } }\n\
         bpf_repeat(3) { seen++; }",
        "",
        "",
    ),
    (
        "maps",
        "#define M(n, t) struct { __uint(type, t); __uint(max_entries, 16); __type(key, u32);\\\n\
         __type(value, u64); } n SEC(\".maps\")\n\
         M(pa, BPF_MAP_TYPE_PERCPU_ARRAY); M(ph, BPF_MAP_TYPE_PERCPU_HASH);\n\
         M(lru, BPF_MAP_TYPE_LRU_HASH); M(h, BPF_MAP_TYPE_HASH);\n\
         struct { __uint(type, BPF_MAP_TYPE_QUEUE); __uint(max_entries, 4); __type(value, u32); }\n\
         q SEC(\".maps\");\n\
         static long each(struct bpf_map *m, u32 *key, u64 *value, void *c)\n\
         { *(u64 *)c += *value; return 0; }",
        "u32 k = 0, out; u64 one = 1, sum = 0; u64 *v = bpf_map_lookup_percpu_elem(&pa, &k, 0);\n\
         if (v) __sync_fetch_and_add(v, 1);\n\
         bpf_map_update_elem(&ph, &k, &one, BPF_NOEXIST); bpf_map_delete_elem(&ph, &k);\n\
         bpf_map_update_elem(&lru, &k, &one, BPF_ANY);\n\
         bpf_map_update_elem(&h, &k, &one, BPF_ANY);\n\
         bpf_map_push_elem(&q, &k, 0); bpf_map_pop_elem(&q, &out);\n\
         bpf_for_each_map_elem(&h, each, &sum, 0);\n\
         if (sum != 1) scx_bpf_error(\"sum %llu\", sum);",
        "",
        "",
    ),
    (
        "timer",
        "struct t { struct bpf_timer timer; };\n\
         struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, int);\n\
         __type(value, struct t); } tm SEC(\".maps\");\nu64 rung, queued;\n\
         static int cb(void *map, int *key, struct t *v)\n\
         { rung++; scx_bpf_kick_cpu(0, SCX_KICK_IDLE); bpf_timer_start(&v->timer, 1000000, 0);\n\
         return 0; }",
        "if (queued++ > 50 && !rung) scx_bpf_error(\"no timer\");",
        "s32 BPF_STRUCT_OPS_SLEEPABLE(timer_init) { int k = 0;\n\
         struct t *v = bpf_map_lookup_elem(&tm, &k); if (!v) return -ESRCH;\n\
         bpf_timer_init(&v->timer, &tm, CLOCK_MONOTONIC); bpf_timer_set_callback(&v->timer, cb);\n\
         return bpf_timer_start(&v->timer, 1000000, 0); }",
        ".init = (void *)timer_init,",
    ),
    (
        "kept",
        "struct tc { struct bpf_cpumask __kptr *mask; };\n\
         struct { __uint(type, BPF_MAP_TYPE_TASK_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC);\n\
         __type(key, int); __type(value, struct tc); } ts SEC(\".maps\");\n\
         struct { __uint(type, BPF_MAP_TYPE_CGRP_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC);\n\
         __type(key, int); __type(value, u64); } cs SEC(\".maps\");",
        "if (!bpf_task_storage_get(&ts, p, 0, 0)) scx_bpf_error(\"nothing kept\");\n\
         struct cgroup *c = scx_bpf_task_cgroup(p);\n\
         if (!bpf_cgrp_storage_get(&cs, c, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))\n\
         scx_bpf_error(\"no group\");\n\
         bpf_cgroup_release(c);",
        "s32 BPF_STRUCT_OPS_SLEEPABLE(kept_init_task, struct task_struct *p,\n\
         struct scx_init_task_args *args) { struct bpf_cpumask *m; struct tc *t =\n\
         bpf_task_storage_get(&ts, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);\n\
         if (!t || !(m = bpf_cpumask_create())) return -ENOMEM;\n\
         m = bpf_kptr_xchg(&t->mask, m); if (m) bpf_cpumask_release(m); return 0; }\n\
         void BPF_STRUCT_OPS(kept_dump, struct scx_dump_ctx *c)\n\
         { scx_bpf_dump(\"at %llu\", c->at_ns); }",
        ".init_task = (void *)kept_init_task, .dump = (void *)kept_dump,",
    ),
    (
        "parts",
        "static const u32 weights[40] = { [0] = 88761, [20] = 1024, [39] = 15 };\n\
         __hidden __noinline int sub(struct task_struct *p) { return p ? p->pid : 0; }\n\
         __weak int twice(u64 x) { return x * 2; }\n\
         extern int LINUX_KERNEL_VERSION __kconfig; extern bool CONFIG_SMP __kconfig __weak;\n\
         u64 woken;\n\
         SEC(\"?tp_btf/sched_wakeup\") int BPF_PROG(wk, struct task_struct *p)\n\
         { woken++; return 0; }\n\
         SEC(\"uprobe\") int up(struct pt_regs *r) { return 0; }",
        "u32 n = p->static_prio - 100; char text[32];\n\
         if (n < 40 && n == 20 && weights[n] != 1024) scx_bpf_error(\"table\");\n\
         if (sub(p) != p->pid || twice(3) != 6 || woken) scx_bpf_error(\"parts\");\n\
         if (LINUX_KERNEL_VERSION < KERNEL_VERSION(6, 12, 0)) scx_bpf_error(\"kernel\");\n\
         BPF_SNPRINTF(text, sizeof(text), \"%d\", 7);\n\
         if (bpf_strncmp(text, 1, \"7\")) scx_bpf_error(\"text\");",
        "",
        "",
    ),
    (
        "people",
        "u64 sum;",
        "struct task_struct *q = bpf_task_from_pid(p->pid);\n\
         if (!q) return; if (q->pid != p->pid) scx_bpf_error(\"another\"); bpf_task_release(q);\n\
         bpf_for_each(scx_dsq, q, 7, 0) { sum += q->pid; }\n\
         const struct cpumask *i = scx_bpf_get_idle_cpumask(); sum += bpf_cpumask_weight(i);\n\
         scx_bpf_put_idle_cpumask(i); sum += bpf_cpumask_any_distribute(p->cpus_ptr);\n\
         bpf_rcu_read_lock(); sum += p->group_leader->pid; bpf_rcu_read_unlock();",
        "s32 BPF_STRUCT_OPS_SLEEPABLE(people_init) { return scx_bpf_create_dsq(7, -1); }",
        ".init = (void *)people_init,",
    ),
    (
        "chains",
        "u64 sum;",
        "struct scx_dispatch_q *q = p->scx.dsq; u64 id = q->id; u32 nr = q->nr;\n\
         if (id || nr) scx_bpf_error(\"%llu %u behind null\", id, nr);\n\
         sum += p->scx.dsq->id + p->mempolicy->mode;\n\
         if (sum) scx_bpf_error(\"not zero\");",
        "",
        "",
    ),
    (
        "flavors",
        "struct task_struct___old { long state; } __attribute__((preserve_access_index));\n\
         struct task_struct___own { unsigned int __state; u32 pid; char comm[16];\n\
         struct sched_ext_entity scx; } __attribute__((preserve_access_index));\n\
         struct no_such___x { int a; };",
        "struct task_struct___own *n = (void *)p; struct task_struct___old *o = (void *)p;\n\
         if (bpf_core_field_exists(o->state) || !bpf_core_field_exists(n->__state))\n\
         scx_bpf_error(\"members\");\n\
         if (bpf_core_type_exists(struct no_such___x)) scx_bpf_error(\"a structure\");\n\
         if (n->pid != p->pid || BPF_CORE_READ(n, scx.weight) != p->scx.weight\n\
         || n->comm[0] != p->comm[0]) scx_bpf_error(\"another place\");",
        "",
        "",
    ),
    (
        "bounds",
        "struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 16384); }\n\
         rb SEC(\".maps\");\n\
         struct { __uint(type, BPF_MAP_TYPE_BLOOM_FILTER); __uint(max_entries, 64);\n\
         __type(value, u32); } seen SEC(\".maps\");",
        "struct bpf_dynptr d; u64 x = 7, y = 0, *z; long n; unsigned long u; u32 pid = p->pid;\n\
         if (bpf_ringbuf_reserve_dynptr(&rb, 16, 0, &d)) scx_bpf_error(\"no room\");\n\
         if (bpf_dynptr_write(&d, 8, &x, 8, 0) || bpf_dynptr_read(&y, 8, &d, 8, 0) || y != 7\n\
         || bpf_dynptr_write(&d, 9, &x, 8, 0) != -E2BIG) scx_bpf_error(\"dynptr %llu\", y);\n\
         z = bpf_dynptr_data(&d, 8, 8); if (!z || *z != 7) scx_bpf_error(\"data\");\n\
         bpf_ringbuf_submit_dynptr(&d, 0);\n\
         if (bpf_strtol(\" -42x\", 5, 0, &n) != 4 || n != -42) scx_bpf_error(\"signed\");\n\
         if (bpf_strtoul(\"0x1f\", 4, 0, &u) != 4 || u != 31) scx_bpf_error(\"hex\");\n\
         if (bpf_strtoul(\"-1\", 2, 10, &u) != -EINVAL) scx_bpf_error(\"negative\");\n\
         if (bpf_map_peek_elem(&seen, &pid) && bpf_map_push_elem(&seen, &pid, 0))\n\
         scx_bpf_error(\"not added\");\n\
         if (bpf_map_peek_elem(&seen, &pid)) scx_bpf_error(\"not seen\");",
        "",
        "",
    ),
];

fn ending(stranger: &Stranger) -> Outcome {
    ending_with(stranger, &[])
}

/// The same with what user space sets.
fn ending_with(
    &(name, before, enqueue, more, table): &Stranger,
    knobs: &[(&str, KnobValue)],
) -> Outcome {
    let text = format!(
        "#include <scx/common.bpf.h>\nchar LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";\n\
         {before}\n\
         void BPF_STRUCT_OPS({name}_enqueue, struct task_struct *p, u64 enq_flags) {{\n{enqueue}\n\
         scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, enq_flags); }}\n{more}\n\
         SCX_OPS_DEFINE({name}_ops, .enqueue = (void *){name}_enqueue, {table}\n\
         .name = \"{name}\");\n"
    );
    let native = compiled_text(name, &text);
    let trial = trial_of(name, knobs, 2, 50, hogs_and_sleepers(3));
    supervise(&trial, &native).unwrap_or_else(|error| panic!("{name}: {error}")).outcome
}

#[test]
fn what_strangers_use_runs() {
    for stranger in RUN {
        let outcome = ending(stranger);
        assert!(outcome.is_ok(), "{}: {outcome:?}", stranger.0);
    }
}

#[test]
fn a_null_pointer_that_the_verifier_refuses_is_a_crash() {
    let unchecked = "struct task_struct *q = bpf_task_from_pid(-1); if (q->pid == 1) return;";
    let outcome = ending(&("unchecked", "", unchecked, "", ""));
    assert_eq!(outcome.word(), "crashed", "{outcome:?}");
    let written = "p->scx.dsq->nr = 1;";
    let outcome = ending(&("written", "", written, "", ""));
    assert_eq!(outcome.word(), "crashed", "{outcome:?}");
}

#[test]
fn an_error_of_the_kernel_has_the_scheduler_s_line() {
    let asks = "struct rq *rq = scx_bpf_cpu_rq(99); if (rq) n += rq->clock;";
    let outcome = ending(&("rows", "u64 n;", asks, "", ""));
    assert!(outcome.reason().contains("in enqueue (rows.bpf.c:5)"), "{outcome:?}");
}

#[test]
fn an_optional_program_runs_if_user_space_asks_for_it() {
    let program = "u64 woken, queued;\nSEC(\"?tp_btf/sched_wakeup\")\n\
                   int BPF_PROG(wk, struct task_struct *p) { woken++; return 0; }";
    let asks = "if (queued++ > 20 && !woken) scx_bpf_error(\"nobody counts\");";
    let asked = ("asked", program, asks, "", "");
    assert_eq!(ending(&asked).word(), "ejected");
    assert!(ending_with(&asked, &[("programs.wk", KnobValue::Bool(true))]).is_ok());
}

#[test]
fn a_scheduler_whose_user_space_decides_is_unsupported() {
    let text = "struct { __uint(type, BPF_MAP_TYPE_USER_RINGBUF); __uint(max_entries, 4096); }\n\
                decided SEC(\".maps\");\n\
                static long one(struct bpf_dynptr *d, void *c) { return 0; }";
    let waits = "bpf_user_ringbuf_drain(&decided, one, 0, 0); return;";
    let outcome = ending(&("elsewhere", text, waits, "", ".timeout_ms = 20,"));
    assert_eq!(outcome.word(), "unsupported", "{outcome:?}");
}

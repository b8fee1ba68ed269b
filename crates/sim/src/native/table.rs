// SPDX-License-Identifier: GPL-2.0-only
//! Which of our functions answers which name of the shim's `FAIRGROUND_CALLS`.

use super::kernel::Kernel;
use super::{helpers, kfuncs, timers};

/// A function of ours, by the name that the object knows it by; `None` if there is none.
pub fn function<K: Kernel>(name: &str) -> Option<*const ()> {
    // Forms of a kfunc differ by what stands behind `___`; the list has one of each.
    let name = name.split_once("___").map_or(name, |(name, _)| name);
    sched_ext::<K>(name).or_else(|| general::<K>(name)).or_else(|| of_maps::<K>(name))
}

fn sched_ext<K: Kernel>(name: &str) -> Option<*const ()> {
    Some(match name {
        "scx_bpf_create_dsq" => kfuncs::create_dsq::<K> as *const (),
        "scx_bpf_destroy_dsq" => kfuncs::destroy_dsq::<K> as *const (),
        "scx_bpf_dsq_nr_queued" => kfuncs::dsq_nr_queued::<K> as *const (),
        "scx_bpf_dsq_insert" => kfuncs::dsq_insert::<K> as *const (),
        "__scx_bpf_dsq_insert_vtime" => kfuncs::dsq_insert_vtime::<K> as *const (),
        "scx_bpf_dsq_move_to_local" => kfuncs::dsq_move_to_local::<K> as *const (),
        "scx_bpf_dsq_move_set_slice" => kfuncs::dsq_move_set_slice::<K> as *const (),
        "scx_bpf_dsq_move_set_vtime" => kfuncs::dsq_move_set_vtime::<K> as *const (),
        "scx_bpf_dsq_move" => kfuncs::dsq_move::<K> as *const (),
        "scx_bpf_dsq_move_vtime" => kfuncs::dsq_move_vtime::<K> as *const (),
        "scx_bpf_dispatch_nr_slots" => kfuncs::dispatch_nr_slots::<K> as *const (),
        "scx_bpf_dispatch_cancel" => kfuncs::dispatch_cancel::<K> as *const (),
        "scx_bpf_dsq_reenq" => kfuncs::dsq_reenq::<K> as *const (),
        "scx_bpf_dsq_peek" => kfuncs::dsq_peek::<K> as *const (),
        "bpf_iter_scx_dsq_new" => kfuncs::iter_dsq_new::<K> as *const (),
        "bpf_iter_scx_dsq_next" => kfuncs::iter_dsq_next::<K> as *const (),
        "bpf_iter_scx_dsq_destroy" => kfuncs::iter_dsq_destroy::<K> as *const (),
        "scx_bpf_select_cpu_dfl" => kfuncs::select_cpu_dfl::<K> as *const (),
        "__scx_bpf_select_cpu_and" => kfuncs::select_cpu_and::<K> as *const (),
        "scx_bpf_kick_cpu" => kfuncs::kick_cpu::<K> as *const (),
        "scx_bpf_cpuperf_cap" => kfuncs::cpuperf_cap::<K> as *const (),
        "scx_bpf_cpuperf_cur" => kfuncs::cpuperf_cur::<K> as *const (),
        "scx_bpf_cpuperf_set" => kfuncs::cpuperf_set::<K> as *const (),
        "scx_bpf_nr_node_ids" => kfuncs::nr_node_ids::<K> as *const (),
        "scx_bpf_cpu_node" => kfuncs::cpu_node::<K> as *const (),
        "scx_bpf_get_possible_cpumask" => kfuncs::possible_cpumask::<K> as *const (),
        // DIVERGES: CPUs do not come and go.
        "scx_bpf_get_online_cpumask" => kfuncs::possible_cpumask::<K> as *const (),
        "scx_bpf_get_idle_cpumask" => kfuncs::idle_cpumask::<K> as *const (),
        "scx_bpf_get_idle_smtmask" => kfuncs::idle_smtmask::<K> as *const (),
        "scx_bpf_get_idle_cpumask_node" => kfuncs::idle_cpumask_node::<K> as *const (),
        "scx_bpf_get_idle_smtmask_node" => kfuncs::idle_smtmask_node::<K> as *const (),
        "scx_bpf_test_and_clear_cpu_idle" => kfuncs::test_and_clear_cpu_idle::<K> as *const (),
        "scx_bpf_pick_idle_cpu" => kfuncs::pick_idle_cpu::<K> as *const (),
        "scx_bpf_pick_any_cpu" => kfuncs::pick_any_cpu::<K> as *const (),
        "scx_bpf_pick_idle_cpu_node" => kfuncs::pick_idle_cpu_node::<K> as *const (),
        "scx_bpf_pick_any_cpu_node" => kfuncs::pick_any_cpu_node::<K> as *const (),
        "scx_bpf_task_running" => kfuncs::task_running::<K> as *const (),
        "scx_bpf_task_cpu" => kfuncs::task_cpu::<K> as *const (),
        "scx_bpf_cpu_curr" => kfuncs::cpu_curr::<K> as *const (),
        "scx_bpf_now" => kfuncs::now::<K> as *const (),
        "scx_bpf_task_set_slice" => kfuncs::task_set_slice::<K> as *const (),
        "scx_bpf_task_set_dsq_vtime" => kfuncs::task_set_dsq_vtime::<K> as *const (),
        "bpf_cpumask_any_distribute" => kfuncs::cpumask_any_distribute::<K> as *const (),
        "bpf_cpumask_any_and_distribute" => kfuncs::cpumask_any_and_distribute::<K> as *const (),
        _ => return None,
    })
}

fn general<K: Kernel>(name: &str) -> Option<*const ()> {
    Some(match name {
        "bpf_ktime_get_ns" => helpers::ktime_get_ns::<K> as *const (),
        "bpf_jiffies64" => helpers::jiffies64::<K> as *const (),
        "bpf_get_prandom_u32" => helpers::prandom_u32::<K> as *const (),
        "bpf_get_current_task_btf" => helpers::current_task::<K> as *const (),
        "bpf_task_from_pid" => helpers::task_from_pid::<K> as *const (),
        "scx_bpf_exit_bstr" => helpers::exit_bstr::<K> as *const (),
        "scx_bpf_error_bstr" => helpers::error_bstr::<K> as *const (),
        "scx_bpf_dump_bstr" => helpers::dump_bstr::<K> as *const (),
        "bpf_trace_vprintk" => helpers::trace_vprintk::<K> as *const (),
        "bpf_snprintf" => helpers::snprintf::<K> as *const (),
        "bpf_timer_init" => timers::timer_init::<K> as *const (),
        "bpf_timer_set_callback" => timers::timer_set_callback::<K> as *const (),
        "bpf_timer_start" => timers::timer_start::<K> as *const (),
        "bpf_timer_cancel" => timers::timer_cancel::<K> as *const (),
        "fairground_llc_id" => kfuncs::llc_id::<K> as *const (),
        "fairground_llc_size" => kfuncs::llc_size::<K> as *const (),
        "fairground_allocate" => helpers::allocate::<K> as *const (),
        "fairground_free" => helpers::free::<K> as *const (),
        "memcpy" => helpers::copy::<K> as *const (),
        "memmove" => helpers::copy_within::<K> as *const (),
        "memset" => helpers::fill::<K> as *const (),
        "memcmp" => helpers::compare::<K> as *const (),
        _ => return None,
    })
}

fn of_maps<K: Kernel>(name: &str) -> Option<*const ()> {
    Some(match name {
        "fairground_map_lookup" => helpers::map_lookup::<K> as *const (),
        "fairground_storage_make" => helpers::storage_make::<K> as *const (),
        "bpf_task_storage_delete" => helpers::storage_delete::<K> as *const (),
        "bpf_map_update_elem" => helpers::map_update::<K> as *const (),
        "bpf_map_delete_elem" => helpers::map_delete::<K> as *const (),
        "bpf_map_lookup_percpu_elem" => helpers::map_lookup_percpu::<K> as *const (),
        "bpf_for_each_map_elem" => helpers::for_each_map_elem::<K> as *const (),
        "bpf_map_push_elem" => helpers::map_push::<K> as *const (),
        "bpf_map_pop_elem" => helpers::map_pop::<K> as *const (),
        "bpf_map_peek_elem" => helpers::map_peek::<K> as *const (),
        "bpf_ringbuf_reserve" => helpers::ringbuf_reserve::<K> as *const (),
        "bpf_ringbuf_submit" => helpers::ringbuf_submit::<K> as *const (),
        "bpf_ringbuf_discard" => helpers::ringbuf_discard::<K> as *const (),
        "bpf_ringbuf_output" => helpers::ringbuf_output::<K> as *const (),
        "bpf_ringbuf_query" => helpers::ringbuf_query::<K> as *const (),
        "bpf_user_ringbuf_drain" => helpers::user_ringbuf_drain::<K> as *const (),
        _ => return None,
    })
}

// SPDX-License-Identifier: LGPL-3.0-or-later
// A softmax attention kernel in Rust, in the form that attest calls:
//
//   rustc -O --crate-type cdylib kernel.rs -o kernel.so
//   attest check softmax --q q.npy --k k.npy --v v.npy --library ./kernel.so:attention
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};

#[repr(C)]
pub struct AttestTensor {
    data: *mut c_void,
    dtype: c_int, // 2: float32
    byteswapped: c_int,
    ndim: c_int,
    shape: [i64; 4],
    stride: [i64; 4],
}

// attest_call of attest.h, as far as this kernel reads it: fields are only ever added at its end.
#[repr(C)]
pub struct AttestCall {
    size: usize,
    kernel: *const c_char,
    params: *const c_char,
    q: AttestTensor,
    k: AttestTensor,
    v: AttestTensor,
    out: AttestTensor,
    lse: AttestTensor,
    input_count: usize,
    input_names: *const *const c_char,
    inputs: *const AttestTensor,
    final_state: AttestTensor,
    scale: f64,
    causal: c_int,
}

const FLOAT32: c_int = 2;

fn elements(t: &AttestTensor) -> &[f32] {
    let count: i64 = t.shape[..t.ndim as usize].iter().product();
    unsafe { std::slice::from_raw_parts(t.data as *const f32, count as usize) }
}

// Whether the problem is softmax without windows, soft caps or temperatures, and positions stand next
// to components (layouts bhnd, hnd, nd; not bnhd, nhd, ..).
fn is_served(call: &AttestCall) -> bool {
    let text = |p| unsafe { CStr::from_ptr(p) }.to_str().unwrap_or("");
    let says = |words| text(call.params).contains(words);
    text(call.kernel) == "softmax"
        && says(r#""window": "-1,-1""#)
        && says(r#""temperature": "1""#)
        && !says(r#""softcap""#)
        && !says(r#"hd""#)
}

#[no_mangle]
pub extern "C" fn attention(call: &AttestCall) -> c_int {
    let n = call.q.ndim as usize;
    if [&call.q, &call.k, &call.v].iter().any(|t| t.dtype != FLOAT32)
        || call.input_count > 3
        || call.causal != 0
        || n < 2
        || !is_served(call)
    {
        return 77; // not served: skipped
    }
    let (nq, d) = (call.q.shape[n - 2] as usize, call.q.shape[n - 1] as usize);
    let (nk, dv) = (call.k.shape[n - 2] as usize, call.v.shape[n - 1] as usize);
    let heads = |t: &AttestTensor| t.shape[..n - 2].iter().product::<i64>() as usize;
    let (heads_q, heads_k) = (heads(&call.q), heads(&call.k));
    let (q, k, v) = (elements(&call.q), elements(&call.k), elements(&call.v));
    let out = unsafe {
        std::slice::from_raw_parts_mut(call.out.data as *mut f32, heads_q * nq * dv)
    };
    let scale = call.scale as f32;
    for row in 0..heads_q * nq {
        let shared = row / nq / (heads_q / heads_k);
        let qi = &q[row * d..(row + 1) * d];
        let scores: Vec<f32> = (0..nk)
            .map(|j| {
                let kj = &k[(shared * nk + j) * d..(shared * nk + j + 1) * d];
                qi.iter().zip(kj).map(|(a, b)| a * b).sum::<f32>() * scale
            })
            .collect();
        let largest = scores.iter().cloned().fold(f32::NEG_INFINITY, f32::max);
        let weights: Vec<f32> = scores.iter().map(|s| (s - largest).exp()).collect();
        let total: f32 = weights.iter().sum();
        for c in 0..dv {
            let sum: f32 = (0..nk).map(|j| weights[j] * v[(shared * nk + j) * dv + c]).sum();
            out[row * dv + c] = sum / total;
        }
    }
    0
}
